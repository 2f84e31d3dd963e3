declare module "*.css";

/** Made by build.mjs: what one build of the bundle is called. */
declare const BUNDLE_KEY: string;

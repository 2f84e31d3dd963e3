declare module "*.css";

/** What js/wat.mjs makes of it. */
declare module "*.wat" {
  const modules: string[];
  export default modules;
}

/** Made by build.mjs: what one build of the bundle is called. */
declare const BUNDLE_KEY: string;

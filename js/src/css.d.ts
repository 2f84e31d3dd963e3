declare module "*.css";

/** Made by build.mjs: the text of style/extras.css. */
declare const EXTRAS_STYLE: string;

/** Made by build.mjs: what extras.js takes of the modules of widget.js. */
declare module "bertlens:shared" {
  export const shared: unknown[];
}

/** Made by build.mjs: what one build of the bundle is called. */
declare const BUNDLE_KEY: string;

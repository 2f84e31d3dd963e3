declare module "*.css";

/** Made by build.mjs: the modules of widget.js that extras.js uses, by number. */
declare module "bertlens:shared" {
  export const shared: unknown[];
}

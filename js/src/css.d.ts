declare module "*.css";

/** Made by build.mjs: the modules of widget.js that extras.js uses, by path. */
declare module "bertlens:shared" {
  export const shared: Record<string, unknown>;
}

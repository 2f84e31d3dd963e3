declare module "*.css";
declare module "*.css?text" {
  const text: string;
  export default text;
}

/** Made by build.mjs: what one build of the bundle is called. */
declare const BUNDLE_KEY: string;
/** And what one build of the part is called that is loaded apart. */
declare const TASK_KEY: string;

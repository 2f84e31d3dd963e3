// What VS Code's Jupyter extension does around its renderer, in a page with a body as its webviews have: the renderer's
// manager is given a kernel connection of @jupyterlab/services, and an output is an element that it draws into.
import { ServerConnection } from "@jupyterlab/services";
import { KernelConnection } from "@jupyterlab/services/lib/kernel/default";

const VIEW = "application/vnd.jupyter.widget-view+json";

/** Runs code in a kernel of the server that the page is from, and draws the widget that it displays. */
globalThis.run = async ({ id, token, renderer, anywidget, code }) => {
  globalThis.requirejs.config({ paths: { anywidget } });
  (await import(renderer)).activate();
  globalThis.vscIPyWidgets8.load();
  const serverSettings = ServerConnection.makeSettings({ baseUrl: `${location.origin}/`, token, appendToken: true });
  const kernel = new KernelConnection({ model: { id, name: "python3" }, serverSettings, handleComms: true });
  const output = document.querySelector(".output");
  const scripts = {
    widgetsRegisteredInRequireJs: new Set(["anywidget"]),
    successHandler() {},
    errorHandler: (name, module, version, error) => console.error(`${module} ${version} ${name}: ${error}`),
  };
  const manager = new globalThis.vscIPyWidgets.WidgetManager(kernel, output, scripts, () => {});
  const future = kernel.requestExecute({ code });
  const shown = new Promise((resolve, reject) => {
    future.onIOPub = ({ header, content }) => {
      if (header.msg_type === "error") reject(new Error(`${content.ename}: ${content.evalue}`));
      if (content.data?.[VIEW]) resolve(content.data[VIEW]);
    };
  });
  const data = await shown;
  const model = await manager.get_model(data.model_id);
  await manager.display_view(data, await manager.create_view(model, { el: output }), { node: output });
};

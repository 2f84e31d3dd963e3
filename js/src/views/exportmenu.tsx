// Placeholder until the exports land.
export function ExportMenu() {
  return null;
}

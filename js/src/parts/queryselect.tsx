// A list to choose the query from.

import { useView } from "../state/view";
import { Select } from "./controls";
import { tokenText } from "./token";

/** The query, where no head view pins one. */
export function QuerySelect() {
  const { synced, overview } = useView();
  const tokens = overview.queries.tokens.map((token, n) => ({ value: String(n), label: `${n} ${tokenText(token)}` }));
  return (
    <Select
      label="query"
      value={String(synced.query.value ?? "")}
      choices={[{ value: "", label: "clearest word" }, ...tokens]}
      onChange={(value) => synced.put({ query: value === "" ? null : Number(value), key: null })}
    />
  );
}

// Keys, and how to read the view.

const KEYS: [key: string, what: string][] = [
  ["click, arrow keys, Home, End, Page up, Page down", "atlas: choose a head"],
  ["shift-click", "atlas: draw one more head"],
  ["click, arrow keys and Enter", "matrix, lines: pin a query and a key"],
  ["Alt and left, right arrow", "back to the selection before, and forward again"],
  ["x, or the right button", "what if: switch off a head, cut a cell, hide a word, switch off a neuron"],
  ["Escape", "unpin"],
];

export const Help = () => (
  <div class="bl-note bl-help">
    <dl>
      {KEYS.map(([key, what]) => (
        <>
          <dt>{key}</dt>
          <dd>{what}</dd>
        </>
      ))}
    </dl>
    <p>
      Each row is a word that looks (a query), each column a word looked at (a key); a row of weights α adds up to 1.
      Heads are counted from 0; the papers count from 1. A weight says where a head looks, not how much it changes the
      output.
    </p>
  </div>
);

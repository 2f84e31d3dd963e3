// Markdown's simple part as elements: paragraphs, a heading, lists, bold, italic, code. Everything else stays text.
import type { ComponentChildren } from "preact";

const MARKS = /\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|`([^`\n]+)`/g;

function inline(text: string): ComponentChildren[] {
  const nodes: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: all, 1: bold, 2: italic, 3: code, index } of text.matchAll(MARKS)) {
    nodes.push(text.slice(from, index));
    nodes.push(bold ? <b>{bold}</b> : italic ? <em>{italic}</em> : <code>{code}</code>);
    from = index + all.length;
  }
  return [...nodes, text.slice(from)];
}

export function Markdown({ text }: { text: string }) {
  const blocks = text.replace(/^#+ (.*)$/gm, "\n# $1\n").split(/\n\s*\n/);
  return (
    <>
      {blocks.map((block, n) => {
        const lines = block.trim().split("\n");
        if (!lines[0]) return null;
        if (lines[0].startsWith("# ")) return <h3 key={n}>{inline(lines[0].slice(2))}</h3>;
        if (!lines.every((line) => line.startsWith("- "))) return <p key={n}>{inline(lines.join(" "))}</p>;
        return (
          <ul key={n}>
            {lines.map((line) => (
              <li key={line}>{inline(line.slice(2))}</li>
            ))}
          </ul>
        );
      })}
    </>
  );
}

// A question in a reader's own words: Sphinx wants all of them in a page. Of three words and more, or where few pages have
// all, those come first that have the most: by what each word tells (in how few pages it stands), in a title more than in
// a text, in a short page more than in a long one, in what is read more than in what is looked up. WORDS, of excerpts.js,
// is how many words each page has.
const withAll = Search.performTermsSearch;
const ASKS = /^(a|can|do|doe|did|get|give|how|i|it|me|mine|my|our|someth|what|when|where|which|who|whi|you)$/;
const LOOKED_UP = /^(api\/|architecture|changes|contributing|genindex|models|peers|py-modindex)/;
Search.performTermsSearch = (words, without) => {
  const all = withAll(words, without);
  const telling = [...words].filter((word) => !ASKS.test(word));
  if (telling.length < 2 || (telling.length < 3 && all.length > 2)) return all;
  const pages = Object.keys(WORDS).length;
  const usual = Object.values(WORDS).reduce((sum, one) => sum + one, 0) / pages;
  const found = new Map();
  for (const word of telling) {
    const hits = withAll(new Set([word]), without);
    for (const hit of hits) {
      const inTitle = hit[4] === Scorer.title || hit[4] === Scorer.partialTitle;
      const told = Math.log(1 + pages / hits.length) * (inTitle ? 3 : 1 / (0.5 + WORDS[hit[0]] / usual));
      const one = found.get(hit[0]) ?? [...hit.slice(0, 4), 0, ...hit.slice(5)];
      one[4] += LOOKED_UP.test(hit[0]) ? told / 2 : told;
      found.set(hit[0], one);
    }
  }
  for (const [name] of all) if (found.has(name)) found.get(name)[4] *= 1.5;
  const most = Math.max(1, ...[...found.values()].map((hit) => hit[4]));
  for (const hit of found.values()) hit[4] *= Scorer.title / most;
  return [...found.values()].sort((one, other) => other[4] - one[4]).slice(0, 20);
};

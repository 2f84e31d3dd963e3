// A live page in Firefox, driven over WebDriver BiDi: `node firefox.mjs FIREFOX ADDRESS PLAN`, with a plan as JSON:
// {texts, layer, head, token, width, theme, framed}. It runs the texts one after the other, opens the head, chooses the
// token and switches the head off, and prints as JSON what the page says and answers, and the list beside the head.
import puppeteer from "puppeteer-core";

const [firefox, address, plan] = process.argv.slice(2);
const { texts, layer, head, token, width, theme, framed } = JSON.parse(plan);
const timeout = 120_000;
const dark = {
  "ui.systemUsesDarkTheme": theme === "dark" ? 1 : 0,
  "layout.css.prefers-color-scheme.content-override": 2,
};
const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: firefox,
  headless: true,
  extraPrefsFirefox: dark,
});
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewport({ width, height: 900 });
  await page.goto(address, { timeout });
  const view = framed ? await (await page.waitForSelector("iframe", { timeout })).contentFrame() : page;
  const one = (selector) => view.waitForSelector(selector, { timeout });
  const text = (selector) => view.$eval(selector, (element) => element.textContent);
  const settled = () => new Promise((next) => setTimeout(next, 1000));
  const answered = async () => {
    await one('[data-testid="answer"]');
    await settled();
    return text('[data-testid="answer"]');
  };
  await one('.bertlens textarea[aria-label="Sentence A"]:not([disabled])');
  await view.waitForFunction(() => /typ/.test(document.getElementById("bertlens-says").textContent), { timeout });
  const says = await text("#bertlens-says");
  await (await one(".bl-in-full")).click();
  const answers = [];
  for (const typed of texts) {
    await view.$eval('textarea[aria-label="Sentence A"]', (box) => box.select());
    await view.type('textarea[aria-label="Sentence A"]', typed);
    await page.keyboard.press("Enter");
    const begins = (word) =>
      [...document.querySelectorAll(".bl-row-label")].some((label) => label.textContent === word);
    await view.waitForFunction(begins, { timeout }, typed.split(" ")[0].toLowerCase());
    answers.push(await answered());
  }
  const button = await one(`.bl-atlas [data-head="${layer}-${head}"]`);
  await (framed ? button.evaluate((it) => it.click()) : button.click()); // in a frame the driver's pointer is beside it
  await view.evaluate((n) => document.querySelectorAll(".bl-row-label")[n].click(), token);
  await settled();
  const list = await view.$$eval('[data-testid="row-list"] li .bl-number', (all) => all.map((n) => n.textContent));
  await view.focus(`.bl-atlas [data-head="${layer}-${head}"]`);
  await page.keyboard.press("x");
  await one(".bl-changes .bl-change");
  const [change, slopes, after] = [
    await text(".bl-changes .bl-change"),
    await text('[data-testid="slopes"]'),
    await answered(),
  ];
  const isDark = await view.$eval(".bertlens", (element) => getComputedStyle(element).colorScheme);
  console.log(JSON.stringify({ says, answers, list, change, slopes, after, isDark, errors }));
} finally {
  await browser.close();
}

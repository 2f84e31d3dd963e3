// A live page in Firefox, driven over WebDriver BiDi: `node firefox.mjs FIREFOX ADDRESS TEXT LAYER HEAD TOKEN` types the
// text, opens the head, chooses the token and prints as JSON what the page says and the list beside the head, then the
// same with the head switched off.
import puppeteer from "puppeteer-core";

const [firefox, address, text, layer, head, token] = process.argv.slice(2);
const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true });
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(address, { timeout: 120_000 });
  const one = (selector) => page.waitForSelector(selector, { timeout: 120_000 });
  await one('.bertlens input[aria-label="Sentence A"]:not([disabled])');
  const says = await page.$eval("#bertlens-says", (element) => element.textContent);
  await page.$eval('input[aria-label="Sentence A"]', (box) => box.select());
  await page.type('input[aria-label="Sentence A"]', text);
  await page.keyboard.press("Enter");
  const shown = text.split(" ").at(-1).replace(".", "");
  const hasLabel = (word) =>
    [...document.querySelectorAll(".bl-row-label")].some((label) => label.textContent === word);
  await page.waitForFunction(hasLabel, { timeout: 120_000 }, shown);
  await (await one(`[data-head="${layer}-${head}"]`)).click();
  await page.evaluate((n) => document.querySelectorAll(".bl-row-label")[n].click(), Number(token));
  const list = async () => {
    await new Promise((next) => setTimeout(next, 1000));
    return page.$$eval('[data-testid="row-list"] li .bl-number', (numbers) =>
      numbers.map((number) => number.textContent),
    );
  };
  const before = await list();
  await page.focus(`[data-head="${layer}-${head}"]`);
  await page.keyboard.press("x");
  await one(".bl-changes .bl-change");
  const change = await page.$eval(".bl-changes .bl-change", (element) => element.textContent);
  const slopes = await page.$eval('[data-testid="slopes"]', (element) => element.textContent);
  console.log(JSON.stringify({ says, before, change, slopes, errors }));
} finally {
  await browser.close();
}

// Clicks and types in the page that `herma-conform report --html` writes, in a headless Chromium, and has axe-core
// look for what hinders people: node harness/browser/report.mjs PAGE
//
// It needs Chromium (CHROMIUM names it) and the npm packages puppeteer-core and axe-core, found from the current
// folder; without them it prints `not run`. CI does not run it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve("package.json"));
const found = (name) => {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
};
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const missing = [
  [executablePath, "Chromium"],
  [found("puppeteer-core"), "puppeteer-core"],
  [found("axe-core"), "axe-core"],
].filter(([path]) => !path);
if (missing.length) {
  console.log(`not run: ${missing.map(([, name]) => name).join(", ")} not found`);
  process.exit(0);
}
const { default: puppeteer } = await import(pathToFileURL(found("puppeteer-core")));
const axe = readFileSync(found("axe-core"), "utf8");
const address = pathToFileURL(resolve(process.argv[2])).href;
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => assert.fail(error));
  page.on("request", (request) => assert.ok(request.url().startsWith("file:"), request.url()));
  for (const [scheme, width] of [["light", 1400], ["dark", 390]]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.setViewport({ width, height: 900 });
    await page.goto(address);
    await clicks(page);
    const failure = await page.$eval(".failures a", (link) => link.hash).catch(() => "#failures");
    for (const view of ["#rules", "#rule-restore-bytes", "#failures", "#coverage", failure]) {
      await look(page, view);
    }
    console.log(`${scheme}, ${width} points: held`);
  }
} finally {
  await browser.close();
}

async function clicks(page) {
  const visibleIds = (elements) => elements.filter((element) => element.checkVisibility()).map(({ id }) => id);
  const shown = async () => (await page.$$eval(".matrix tr[data-level]", visibleIds)).length;
  const visible = () => page.$$eval(".view", visibleIds);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const all = await shown();
  assert.ok(all > 100);
  assert.deepEqual(await visible(), ["rules"]);
  await page.keyboard.press("/");
  await page.keyboard.type("restore bytes");
  const some = await shown();
  assert.ok(some > 0 && some < all);
  await page.keyboard.press("ArrowDown");
  const first = await focused();
  assert.match(first, /\//);
  await page.keyboard.press("Enter");
  assert.deepEqual(await visible(), [`rule-${first.replace("/", "-")}`]);
  assert.equal(await focused(), first);
  await page.goBack();
  assert.deepEqual(await visible(), ["rules"]);
  await page.click("[name=text]", { count: 3 });
  await page.keyboard.type("no rule has these words");
  assert.equal(await shown(), 0);
  await page.click("[data-reset]");
  assert.equal(await shown(), all);
  await page.select("[name=level]", "SHOULD");
  assert.ok((await shown()) < all);
  await page.focus("[name=level]");
  await page.keyboard.press("Escape");
  assert.equal(await shown(), all);
  await page.click("nav a[href='#coverage']");
  assert.deepEqual(await visible(), ["coverage"]);
}

/** The view fits its width, and axe-core finds nothing in it. */
async function look(page, view) {
  await page.goto("about:blank");
  await page.goto(address + view);
  const current = await page.$eval("nav [aria-current]", (link) => link.hash);
  assert.ok(view.startsWith(current.replace(/s$/, "")), `${view} is not in ${current}`);
  await page.waitForFunction((hash) => document.querySelector(hash).checkVisibility(), {}, view);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(excess <= 0, `${view} is ${excess} points too wide`);
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() => axe.run(document));
  assert.ok(passes.length > 10, `axe-core looked at nothing in ${view}`);
  assert.deepEqual(violations.map((found) => `${view}: ${found.id}, ${found.nodes[0].html}`), []);
}

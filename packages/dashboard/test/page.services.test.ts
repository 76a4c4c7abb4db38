/// <reference lib="dom" />
// What is evaluated in the page sees the page.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Pgque } from "@pgque/client";
import { serveDashboard } from "@pgque/dashboard";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
let database: OwnServer;
let pgque: Pgque;
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  database = await ownServer();
  pgque = new Pgque(database.pool());
  for (const name of ["orders", "mails", `"><img src=x onerror=alert(1)>`, "a\u202Egpj.exe"]) {
    await pgque.ensure(name);
    await pgque.subscribe(name, "default");
  }
  await pgque.sendMany(
    "orders",
    Array.from({ length: 250 }, (_, id) => ({ id })),
  );
  await pgque.schedules.set(`nightly <b>`, "orders", "30 2 * * *", { kind: "x".repeat(300) });
  const holder = await database.connect();
  await holder.query("begin isolation level repeatable read");
  await holder.query(`select 'what it did last'`);
  await pgque.queues.pause("mails");
  const { id, messages } = await pgque.receive("orders", { max: 5 });
  const dead = messages.map((message) => message.id);
  await pgque.bury(id ?? "", dead, `"><img src=x onerror=alert(1)> after ${"x".repeat(300)}`);
});
afterAll(async () => {
  await browser.close();
  await database.drop();
});

interface Opened {
  page: Page;
  complaints: string[];
}

interface View {
  isOperator?: boolean;
  colorScheme?: "light" | "dark";
  width?: number;
  javaScriptEnabled?: boolean;
}

async function open(
  path: string,
  { colorScheme = "light", width = 1440, javaScriptEnabled = true, isOperator = true }: View = {},
): Promise<Opened> {
  const { url, close } = await serveDashboard(pgque, {
    port: 0,
    basePath: "/a/b",
    refreshMs: 1000,
    ...(isOperator && { operator: { pgque, who: () => "ada", audit: () => undefined } }),
  });
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme,
    javaScriptEnabled,
    timezoneId: "Asia/Kolkata",
    locale: "en-GB",
  });
  onTestFinished(async () => {
    await context.close();
    await close();
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => complaints.push(`dialog ${dialog.message()}`));
  await page.goto(url + path);
  return { page, complaints };
}

const views = (["light", "dark"] as const).flatMap((colorScheme) =>
  [390, 1440].flatMap((width) =>
    [
      "",
      "queue?name=orders",
      "dead-letters?queue=orders",
      "message?queue=orders&id=1",
      "consumers",
      "schedules",
      "horizon",
      "action?do=purge-queue&queue=orders",
      "action?do=move-consumer&queue=orders&consumer=default",
    ].map((path) => ({ colorScheme, width, path })),
  ),
);

test.each(views)(
  "$path at $width px, $colorScheme: no violation of the policy or of accessibility, and nothing wider than the screen",
  async ({ path, width, colorScheme }) => {
    const { page, complaints } = await open(path, { width, colorScheme });
    const folder = process.env["PGQUE_SCREENSHOTS"];
    const shown = /do=([\w-]+)/.exec(path)?.[1] ?? (path.split("?")[0] || "overview");
    const file = `${shown}-${width}-${colorScheme}.png`;
    if (folder) await page.screenshot({ path: `${folder}/${file}`, fullPage: true });
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      };
      return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    });
    expect(violations).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(complaints).toEqual([]);
  },
);

test("times are in the viewer's zone, with UTC as their title", async () => {
  const { page } = await open("queue?name=orders");
  const time = page.locator("dd time");
  const [shown, iso, title] = [
    await time.textContent(),
    await time.getAttribute("datetime"),
    await time.getAttribute("title"),
  ];
  const format = new Intl.DateTimeFormat("en-GB", {
    dateStyle: "medium",
    timeStyle: "medium",
    timeZone: "Asia/Kolkata",
  });
  expect(shown).toBe(format.format(new Date(iso ?? "")));
  expect(title).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
});

test("without JavaScript the page has everything, times in UTC, and its links lead on", async () => {
  const { page } = await open("", { javaScriptEnabled: false });
  expect(await page.locator("h1").textContent()).toContain("4 queues: nothing waits");
  expect(await page.locator("td time").first().textContent()).toMatch(/UTC$/);
  await page.getByRole("link", { name: "mails" }).first().click();
  expect(await page.locator("h1").textContent()).toContain("mails paused");
  await page.getByRole("link", { name: "Pgque" }).click();
  expect(new URL(page.url()).pathname).toBe("/a/b/");
});

test("an open page shows what has changed", async () => {
  const { page } = await open("queue?name=orders");
  await pgque.queues.pause("orders");
  onTestFinished(() => pgque.queues.resume("orders").then(() => undefined));
  await page.locator("h1 em", { hasText: "paused" }).waitFor();
});

test("without JavaScript an operator pauses and resumes a queue, and its name has to be typed to purge it", async () => {
  const { page } = await open("queue?name=mails", { javaScriptEnabled: false });
  await pgque.send("mails", 1);
  await page.getByRole("link", { name: "Resume" }).first().click();
  expect(await page.locator("main").textContent()).toContain('This ends the pause of queue "mails"');
  expect((await pgque.queues.status("mails")).paused).toBe(true);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("link", { name: "Back" }).click();
  expect(await page.locator("h1").textContent()).toBe("mails");
  await page.getByRole("link", { name: "Purge" }).click();
  await page.getByLabel("Type mails").fill("orders");
  await page.getByRole("button", { name: "Purge" }).click();
  expect(await page.getByRole("alert").textContent()).toContain("nothing was done");
  await page.getByLabel("Type mails").fill("mails");
  await page.getByRole("button", { name: "Purge" }).click();
  expect(await page.getByRole("status").textContent()).toBe("Threw away 1 message.");
  await pgque.queues.pause("mails");
});

test("without JavaScript an operator chooses dead letters by their boxes, and sends them again", async () => {
  await pgque.ensure("letters");
  await pgque.subscribe("letters", "default");
  onTestFinished(() => pgque.queues.drop("letters", { force: true }).then(() => undefined));
  await pgque.sendMany("letters", [1, 2, 3]);
  const { id, messages } = await pgque.receive("letters", { max: 3 });
  await pgque.bury(
    id ?? "",
    messages.map((message) => message.id),
    "gone",
  );
  const { page } = await open("dead-letters?queue=letters", { javaScriptEnabled: false });
  await page.getByRole("checkbox").nth(0).check();
  await page.getByRole("checkbox").nth(2).check();
  await page.getByRole("button", { name: "Send again" }).click();
  expect(await page.locator("main").textContent()).toContain("This sends 2 dead letters");
  await page.getByRole("button", { name: "Send again" }).click();
  expect(await page.getByRole("status").textContent()).toBe("Sent again 2 dead letters.");
  expect(await pgque.deadLetters.list("letters")).toHaveLength(1);
});

test("without JavaScript a message is found by its id, and the schedule of another is run", async () => {
  const { page } = await open("queue?name=orders", { javaScriptEnabled: false });
  await page.getByLabel("Message:").fill("1");
  await page.getByRole("button", { name: "Show" }).click();
  expect(await page.locator("h1").textContent()).toBe("Message 1 of orders");
  expect(await page.locator("tbody").textContent()).toContain("dead");
  await page.getByRole("link", { name: "Schedules" }).click();
  await page.getByRole("link", { name: "Run now" }).click();
  await page.getByRole("button", { name: "Run now" }).click();
  expect(await page.getByRole("status").textContent()).toMatch(/^Sent message \d+\.$/);
  await page.getByRole("link", { name: "Back" }).click();
  expect(await page.locator("h1").textContent()).toBe("Schedules");
});

test("a page of another site cannot have the browser send a confirmation", async () => {
  const { page } = await open("action?do=pause-queue&queue=orders");
  const [fields, token] = await Promise.all([
    page.locator('input[name="fields"]').inputValue(),
    page.locator('input[name="token"]').inputValue(),
  ]);
  const body = new URLSearchParams({ do: "pause-queue", fields, token }).toString();
  const foreign = await page.context().newPage();
  // localhost is another site than 127.0.0.1
  await foreign.route("http://localhost/**", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<form method="post" action="${page.url().split("?")[0]}">${[...new URLSearchParams(body)]
        .map(([name, value]) => `<input name="${name}" value="${value.replaceAll('"', "&quot;")}">`)
        .join("")}<button>Win</button></form>`,
    }),
  );
  await foreign.goto("http://localhost/prize");
  await foreign.getByRole("button").click();
  expect(await foreign.locator("h1").textContent()).toBe("Refused");
  expect((await pgque.queues.status("orders")).paused).toBe(false);
  await page.getByRole("button", { name: "Pause" }).click();
  expect((await pgque.queues.status("orders")).paused).toBe(true);
  await pgque.queues.resume("orders");
});

import { PgqueError } from "@pgque/client";
import { type CrontabEntry, parseCrontab } from "@pgque/worker";
import { describe, expect, test } from "vitest";

const only = (line: string): CrontabEntry | undefined => parseCrontab(line)[0];

test("a schedule on each line, but for comments and empty ones", () => {
  const text = '# every night\n\n0 3 * * * reports\r\n  # and\n\t*/5 * * * *   mails ?id=digest   {"to": "all"}  \n';
  expect(parseCrontab(text)).toEqual([
    { line: 3, name: "reports", queue: "reports", schedule: { cron: "0 3 * * *", payload: {} } },
    { line: 5, name: "digest", queue: "mails", schedule: { cron: "*/5 * * * *", payload: { to: "all" } } },
  ]);
  expect(parseCrontab("")).toEqual([]);
});

test.each([
  ["0 3 * * * q", "0 3 * * *", "q"],
  ["*/10 * * * * * q", "*/10 * * * * *", "q"],
  ["0 30 3 * * MON-FRI q", "0 30 3 * * MON-FRI", "q"],
  ["0 3 * JAN Mon monday", "0 3 * JAN Mon", "monday"],
  ["@daily q", "@daily", "q"],
  ['0 3 * * * "7 dwarfs"', "0 3 * * *", "7 dwarfs"],
  ['0 3 * * * "MON" ?id=m', "0 3 * * *", "MON"],
  ["0 3 * * * größe/☾", "0 3 * * *", "größe/☾"],
])("%j: time and queue", (line, cron, queue) => {
  expect(only(line)).toMatchObject({ queue, schedule: { cron } });
});

test.each([
  ["timeZone=Europe/Berlin", { timeZone: "Europe/Berlin" }],
  ["timeZone=Etc/GMT+1", { timeZone: "Etc/GMT+1" }],
  ["catchUp=skip", { catchUp: "skip" }],
  ["catchUp=once&type=daily", { catchUp: "once", type: "daily" }],
  ["catchUp=all:20", { catchUp: { all: 20 } }],
  ["priority=3", { priority: 3 }],
  ["key=a%20b%26c", { key: "a b&c" }],
  ["key=100%", { key: "100%" }],
])("?%s", (options, expected) => {
  expect(only(`0 3 * * * q ?${options}`)?.schedule).toEqual({ cron: "0 3 * * *", payload: {}, ...expected });
});

test.each([
  ["*/15 * * * *", "4h", { all: 16 }],
  ["*/15 * * * *", "1h30m", { all: 6 }],
  ["0 3 * * *", "4h", { all: 1 }],
  ["0 3 * * *", "1w2d", { all: 9 }],
  ["0,10,50 9 * * *", "15m", { all: 2 }],
  ["* * * * *", "4w3d2h1m30s", { all: 1440 }],
  ["* * * * *", "0s", "skip"],
])("%s with ?fill=%s makes good as many as come in that time: %j", (time, fill, catchUp) => {
  expect(only(`${time} q ?fill=${fill}`)?.schedule).toEqual({ cron: time, payload: {}, catchUp });
});

describe("what cannot be read is said with line and column", () => {
  test.each([
    [
      "0 3 * *",
      8,
      "expected a time of five fields, six with seconds, or a name such as @daily, got: the end of the line",
    ],
    ["0 3 * * *", 10, "expected a queue after the time, got: the end of the line"],
    ["0 3 * * * ?id=x", 11, "expected a queue after the time, got: ?id=x"],
    ["0 3 * * * {}", 11, "expected a queue after the time, got: {}"],
    ['0 3 * * * "open', 11, 'expected a queue after the time, got: "open'],
    ["  0 61 * * * q", 3, "expected `cron` to be a cron expression, got: '0 61 * * *' (Invalid value for hour: 61)"],
    ["@reboot q", 1, "expected `cron` to be five fields"],
    ["0 3 * * * q ?id=a&timeZone=Mars", 19, "expected `timeZone` to be a time zone that Node.js knows"],
    ["0 3 * * * q ?id=a&id=b", 19, "expected `id` once, got it twice"],
    ["0 3 * * * q ?id=", 14, "expected `id` to be a name, got: "],
    ["0 3 * * * q ?", 14, "expected options after `?`, got: the end of the line"],
    ["0 3 * * * q ?colour=red", 14, "unknown option `colour`, known: id, timeZone, catchUp, fill, type, priority, key"],
    ["0 3 * * * q ?catchUp=all:0", 14, "expected `catchUp` to be skip, once or all:N, got: all:0"],
    ["0 3 * * * q ?catchUp=all:1441", 14, "expected `catchUp` to be skip, once or all:N"],
    ["0 3 * * * q ?fill=4x", 14, "expected `fill` to be a period such as 4w3d2h1m30s, got: 4x"],
    ["0 3 * * * q ?catchUp=once&fill=1d", 27, "expected `fill` or `catchUp`, got both"],
    ["0 3 * * * q ?priority=-1", 14, "expected `priority` to be an integer from 0, got: -1"],
    ["0 3 * * * q ?max=3", 14, "`max` is no option here: attempts are an option of the queue, `maxRetries`"],
    ["0 3 * * * q ?queue=serial", 14, "`queue` is no option here"],
    ["0 3 * * * q ?jobKey=k", 14, "`jobKey` is no option here: each time is run once"],
    ['0 3 * * * q {"a": 1, b: 2}', 22, "expected the payload to be JSON"],
    ["0 3 * * * q payload", 13, "expected the payload to be JSON"],
  ])("%j: column %i", (line, column, message) => {
    expect(() => parseCrontab(`# comment\n${line}`)).toThrow(`crontab: line 2, column ${column}: ${message}`);
  });

  test("all of it at once", () => {
    const text = "0 3 * * * a\n0 25 * * * b\n0 3 * * * a\n0 4 * * *";
    const problems = [
      "line 2, column 1: expected `cron` to be a cron expression, got: '0 25 * * *' (Invalid value for hour: 25)",
      'line 3, column 1: expected a name of its own, got: "a", as on line 1; name it with ?id=…',
      "line 4, column 10: expected a queue after the time, got: the end of the line",
    ];
    expect(() => parseCrontab(text)).toThrow(
      new PgqueError("INVALID_OPTION", `crontab: ${problems.join("; ")}`, { details: { problems } }),
    );
  });
});

import { defineConfig } from "vitest/config";

const long = "**/*.long.test.ts";
const services = "**/*.services.test.ts";
const ignored = ["**/node_modules/**", "**/dist/**"];

/** By hand a test that fails has failed. CI, on a machine shared with others, tries it again, and tells which tests needed that. */
const retries = Number(process.env["PGQUE_TEST_RETRIES"] ?? 0);

/** Three tiers: `fast` needs npm packages alone, `long` needs time, `services` needs programs from the system. */
export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 3,
    retry: retries,
    reporters: retries > 0 ? ["default", "test/support/flaky-reporter.ts"] : ["default"],
    // what was built runs as Node runs it, CommonJS included: vitest would read it as ESM, for it is in no node_modules
    server: { deps: { external: [/\/dist\//] } },
    globalSetup: ["test/support/server.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "fast", include: ["**/*.test.ts"], exclude: [...ignored, long, services] } },
      { extends: true, test: { name: "long", include: [long], exclude: ignored, testTimeout: 1_200_000 } },
      { extends: true, test: { name: "services", include: [services], exclude: ignored, testTimeout: 120_000 } },
    ],
  },
});

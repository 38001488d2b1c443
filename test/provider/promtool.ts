/** Prometheus' own tool, which evaluates rules on series that a test gives. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";

/** Why rules cannot be evaluated here; false when they can. */
export const promtoolMissing: false | string =
  spawnSync("promtool", ["--version"]).error === undefined
    ? false
    : "promtool is not installed; on Debian: apt-get install --no-install-recommends prometheus";

export function promtool(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`promtool ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

interface Scrape {
  /** What was served. */
  readonly text: string;
  /** For how long, a minute apart. */
  readonly minutes: number;
}

const labels = { instance: "provider:9090", job: "akash-provider" };

/** What is scraped, and which alerts fire at which minute of it. */
export interface FiringCase {
  readonly name: string;
  readonly scrapes: readonly Scrape[];
  readonly expected: readonly { readonly minute: number; readonly alert: string; readonly fires: boolean }[];
}

/** All cases in one run of promtool. Alerts are counted by rules of their own: promtool wants every label otherwise. */
export function checkFiring(owner: Owner, rules: string, cases: readonly FiringCase[]): void {
  const file = join(temporaryFolder(owner), "test.json");
  // Series that no rule names only cost time.
  const text = readFileSync(rules, "utf8");
  const tests = cases.map(({ name, scrapes, expected }) => ({
    name,
    interval: "1m",
    input_series: seriesOf(scrapes).filter(({ series }) => text.includes(series.split("{", 1)[0] ?? "")),
    promql_expr_test: expected.map(({ minute, alert, fires }) => ({
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0`,
      eval_time: `${minute}m`,
      exp_samples: fires ? [{ labels: "{}", value: 1 }] : [],
    })),
  }));
  // YAML takes JSON as it is.
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests }));
  promtool("test", "rules", file);
}

function seriesOf(scrapes: readonly Scrape[]): { series: string; values: string }[] {
  const read = scrapes.map(({ text }) => samplesIn(text));
  const names = new Set(read.flatMap((samples) => [...samples.keys()]));
  return [...names].map((series) => ({
    series,
    values: scrapes
      .map(({ minutes }, at) => {
        const value = read[at]?.get(series);
        return value === undefined ? `_x${minutes}` : `${value}+0x${minutes - 1}`;
      })
      .join(" "),
  }));
}

/** Every sample of the text with the labels that a scrape adds. */
function samplesIn(text: string): Map<string, string> {
  const own = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const lines = text.matchAll(/^((?:akash_)?provider_\w+)(?:\{(.*)\})? (-?[\d.]+(?:e[+-]?\d+)?)$/gm);
  return new Map(
    [...lines].map(([, name, given = "", value = ""]) => [
      `${name}{${[...(given ? [given] : []), ...own].join(",")}}`,
      value,
    ]),
  );
}

/**
 * Plants the faults of test/mutants/ one at a time in a copy of the code and runs the suite that each names, alone: `npm run
 * mutants`. Words choose mutants by part of their name. With --check nothing runs: each patch still applies, and its suite exists.
 */
import { execFile } from "node:child_process";
import { cpSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { run } from "node:test";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..");
/** A suite that takes longer is aborted, and its mutant is not killed: a machine that is slow would kill any. */
const suiteMs = 300_000;
interface Mutant {
  readonly name: string;
  readonly patch: string;
  readonly suite: string;
  /** The least effort that notices it: none, "long" or "soak" (test/support/thorough.ts). */
  readonly effort: string | undefined;
}

type Result = "passed" | "failed" | "late" | "broken";

interface SuiteRun {
  readonly result: Result;
  readonly seconds: number;
  /** The test that failed. */
  readonly by?: string;
}

async function main(): Promise<void> {
  const words = process.argv.slice(2).filter((word) => word !== "--check");
  const mutants = globSync("test/mutants/*.patch", { cwd: root })
    .sort()
    .flatMap(readMutants)
    .filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (process.argv.includes("--check")) return check(mutants);
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-mutants-"));
  try {
    const copies = Array.from({ length: availableParallelism() }, (_, index) => copyOfCode(join(folder, `${index}`)));
    await runAll(mutants, copies);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** One for each suite that a patch names, "Suite: test/provider/history.test.ts (long)": all of them have to notice it. */
function readMutants(path: string): Mutant[] {
  const patch = join(root, path);
  const [header = ""] = readFileSync(patch, "utf8").split(/^diff --git /m);
  const named = [...header.matchAll(/^Suite: (\S+)(?: \((long|soak)\))?$/gm)];
  const suites = named.length > 0 ? named : [["", ""]];
  return suites.map(([, suite = "", effort]) => ({ name: basename(path, ".patch"), patch, suite, effort }));
}

async function check(mutants: readonly Mutant[]): Promise<void> {
  for (const { name, patch, suite } of mutants) {
    const failure = await apply(root, patch, "--check").then(
      () => (/\.test\.ts$/.test(suite) && existsSync(join(root, suite)) ? undefined : `no suite "${suite}"`),
      (thrown: Error) => thrown.message,
    );
    if (failure === undefined) continue;
    console.error(`test/mutants/${name}.patch: ${failure}`);
    process.exitCode = 1;
  }
}

/** Without a repository above it: git would take the paths of the patch as its. */
async function apply(folder: string, patch: string, ...options: string[]): Promise<void> {
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(folder) };
  await promisify(execFile)("git", ["apply", ...options, patch], { cwd: folder, env });
}

function copyOfCode(folder: string): string {
  for (const name of readdirSync(root).filter((each) => !["node_modules", ".git", "data", "dist"].includes(each)))
    cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** First each suite without a fault: one that fails anyway proves nothing. */
async function runAll(mutants: readonly Mutant[], copies: readonly string[]): Promise<void> {
  const sound = new Map(mutants.map((mutant) => [suiteOf(mutant), { ...mutant, patch: undefined }]));
  const failing = new Set<string>();
  await inCopies([...sound.values()], copies, async (mutant, copy) => {
    const { result, by, seconds } = await runSuite(mutant, copy);
    if (result === "passed") return;
    failing.add(suiteOf(mutant));
    print("fails without a fault", seconds, suiteOf(mutant), by);
  });
  let killed = 0;
  await inCopies(mutants, copies, async (mutant, copy) => {
    if (failing.has(suiteOf(mutant))) return;
    await apply(copy, mutant.patch);
    const { result, by, seconds } = await runSuite(mutant, copy);
    await apply(copy, mutant.patch, "--reverse");
    if (result === "failed") killed += 1;
    const shown = { passed: "SURVIVED", failed: "killed", late: "TIMED OUT", broken: "BROKEN" }[result];
    print(shown, seconds, mutant.name, suiteOf(mutant), by);
  });
  console.log(`${killed} of ${mutants.length} mutants killed`);
  if (killed < mutants.length || mutants.length === 0) process.exitCode = 1;
}

function print(result: string, seconds: number, ...rest: (string | undefined)[]): void {
  console.log(`${result.padEnd(13)} ${seconds.toFixed(1).padStart(5)} s  ${rest.filter(Boolean).join(" | ")}`);
}

function suiteOf({ suite, effort }: Pick<Mutant, "suite" | "effort">): string {
  return effort ? `${suite} (${effort})` : suite;
}

/** One at a time in each of the copies. */
async function inCopies<T>(
  jobs: readonly T[],
  copies: readonly string[],
  work: (job: T, copy: string) => Promise<void>,
) {
  const left = jobs.values();
  await Promise.all(
    copies.map(async (copy) => {
      for (const job of left) await work(job, copy);
    }),
  );
}

/** To its first failed test. A file that does not load fails as a whole, which says nothing about its tests. */
async function runSuite({ suite, effort }: Pick<Mutant, "suite" | "effort">, copy: string): Promise<SuiteRun> {
  const startedMs = performance.now();
  const first = new AbortController();
  const late = AbortSignal.timeout(suiteMs);
  let passed = 0;
  let outcome: { result: Result; by: string } | undefined;
  const file = join(copy, suite);
  const stream = run({
    ...{ files: [file], cwd: copy, signal: AbortSignal.any([first.signal, late]) },
    execArgv: ["--import", join(copy, "tools/light-tests.ts")],
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(copy), "cache"), TEST_EFFORT: effort ?? "" },
  });
  for await (const { type, data } of stream) {
    if (type === "test:pass" && (data.skip ?? false) === false) passed += 1;
    if (type !== "test:fail" || outcome) continue;
    const { failureType } = data.details.error as { failureType?: string };
    // One that waits for what never comes is cancelled when nothing else happens any more.
    const isTest = data.name !== file && ["testCodeFailure", "cancelledByParent"].includes(failureType ?? "");
    outcome = { result: late.aborted ? "late" : isTest ? "failed" : "broken", by: data.name };
    first.abort();
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  return { seconds, ...(outcome ?? (passed > 0 ? { result: "passed" } : { result: "broken", by: "no tests" })) };
}

await main();

/** `akash-provider demo`, which is `npm start`: a chain, tenants and a provider in one process, and nothing left behind. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { createDemo, type Demo } from "../box/demo.ts";
import { renderView, shortId } from "../box/view.ts";
import { realClock, sleep } from "../runtime/clock.ts";
import { createLog } from "../runtime/log.ts";
import { streamDestination } from "../runtime/log-destination.ts";
import { realRandom } from "../runtime/random.ts";
import { abortOnSignals } from "./signals.ts";
import { openTerminal } from "./terminal.ts";
import { version } from "./version.ts";

interface DemoOptions {
  readonly stories?: number;
  readonly live: boolean;
}

const title = "akash-provider demo";
/** Four frames a second look alive and cost nothing. */
const frameMs = 250;
/** More than the largest terminal shows. */
const logLinesKept = 200;

export function demoCommand(): Command {
  return new Command("demo")
    .description("show everything at work in one process, with a chain in a box; needs no settings")
    .option("--stories <number>", "end after this many deployments have gone all the way", parseCount)
    .option("--no-live", "print lines instead of drawing a live view")
    .action(async (options: DemoOptions) => {
      const dataDir = mkdtempSync(join(tmpdir(), "akash-provider-demo-"));
      try {
        await demo(dataDir, options);
      } finally {
        rmSync(dataDir, { recursive: true, force: true });
      }
    });
}

async function demo(dataDir: string, options: DemoOptions): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([abortOnSignals(), ended.signal]);
  const live = options.live && process.stdout.isTTY === true;
  const logLines: string[] = [];
  const log = createLog({
    timestamp: "kitchen",
    destination: live ? { write: (line) => keepLine(logLines, line), lost: 0 } : streamDestination(process.stderr),
  });
  const provider = createDemo({ dataDir, version, clock: realClock, random: realRandom, log });
  const quit = () => ended.abort();
  const show = live ? drawFrames(provider, logLines, signal, quit) : printStories(provider, signal);
  try {
    await Promise.all([provider.run(signal).finally(quit), endAfter(provider, options.stories, signal, quit), show]);
  } finally {
    process.stdout.write(`${summary(provider)}\n`);
  }
}

async function endAfter(provider: Demo, stories: number | undefined, signal: AbortSignal, end: () => void) {
  await everyFrame(signal, () => {
    if (stories !== undefined && provider.storiesComplete >= stories) end();
  });
}

async function drawFrames(provider: Demo, logLines: string[], signal: AbortSignal, quit: () => void): Promise<void> {
  const terminal = openTerminal(process.stdin, process.stdout, quit);
  try {
    await everyFrame(signal, () => {
      const { columns, rows, color } = terminal;
      const { stories, storiesComplete } = provider;
      const options = { title, columns, rows, color, stories, storiesComplete, logLines };
      terminal.draw(renderView(provider.status(), options));
    });
  } finally {
    terminal.close();
  }
}

async function printStories(provider: Demo, signal: AbortSignal): Promise<void> {
  let printed = new Set<string>();
  process.stdout.write(`${title}: tenants use a chain in a box, a provider watches; Ctrl-C ends it\n`);
  await everyFrame(signal, () => {
    const complete = provider.stories.filter((story) => story.complete);
    for (const { deployment, stations } of complete) {
      if (printed.has(deployment)) continue;
      process.stdout.write(`${shortId(deployment)}: ${stations.map(({ name }) => name).join(" → ")}\n`);
    }
    // No more than are still told of: the demo may run all day.
    printed = new Set(complete.map(({ deployment }) => deployment));
  });
}

async function everyFrame(signal: AbortSignal, act: () => void): Promise<void> {
  while (!signal.aborted) {
    act();
    await sleep(realClock, frameMs, signal).catch(() => undefined);
  }
  act();
}

/** What a person, or a test, reads at the end. */
function summary(provider: Demo): string {
  const { bus: topics = [], chain, inventory } = provider.status().documents;
  const dropped = topics.reduce((sum, topic) => sum + topic.dropped, 0);
  const { height = 0n, landed = 0, failed = 0 } = chain ?? {};
  const transactions = `${landed} transactions landed, ${failed} failed`;
  const nodes = `${inventory?.nodes.filter(({ state }) => state === "offered").length ?? 0} nodes offered`;
  const told = `${provider.storiesComplete} stories complete, ${height} blocks`;
  return `${told}, ${transactions}, ${nodes}, ${dropped} messages dropped`;
}

function keepLine(lines: string[], line: string): void {
  lines.push(line.trimEnd());
  if (lines.length > logLinesKept) lines.shift();
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return count;
}

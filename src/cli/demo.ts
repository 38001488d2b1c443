/** `akash-provider demo`, which is `npm start`: everything in one process with made-up orders, and nothing left behind. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { createProvider, type Provider } from "../provider/provider.ts";
import { realClock, sleep } from "../runtime/clock.ts";
import { createLog } from "../runtime/log.ts";
import { streamDestination } from "../runtime/log-destination.ts";
import { realRandom } from "../runtime/random.ts";
import { abortOnSignals } from "./signals.ts";
import { openTerminal } from "./terminal.ts";
import { renderView, shortOrder } from "./view.ts";

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
    .description("show everything at work with made-up orders; needs no chain, no cluster and no settings")
    .option("--stories <number>", "end after this many orders have gone all the way", parseCount)
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
  const provider = createProvider({
    dataDir,
    metricsListener: { host: "127.0.0.1", port: 0 },
    rehearse: true,
    clock: realClock,
    random: realRandom,
    log,
  });
  const quit = () => ended.abort();
  const show = live ? drawFrames(provider, logLines, signal, quit) : printStories(provider, signal);
  try {
    await Promise.all([provider.run(signal).finally(quit), endAfter(provider, options.stories, signal, quit), show]);
  } finally {
    process.stdout.write(`${summary(provider)}\n`);
  }
}

async function endAfter(provider: Provider, stories: number | undefined, signal: AbortSignal, end: () => void) {
  await everyFrame(signal, () => {
    if (stories !== undefined && provider.status().storiesComplete >= stories) end();
  });
}

async function drawFrames(
  provider: Provider,
  logLines: string[],
  signal: AbortSignal,
  quit: () => void,
): Promise<void> {
  const terminal = openTerminal(process.stdin, process.stdout, quit);
  try {
    await everyFrame(signal, () => {
      const { columns, rows, color } = terminal;
      terminal.draw(renderView(provider.status(), { title, columns, rows, color, logLines }));
    });
  } finally {
    terminal.close();
  }
}

async function printStories(provider: Provider, signal: AbortSignal): Promise<void> {
  const printed = new Set<string>();
  process.stdout.write(`${title}: made-up orders pass through bus, queue and journal; Ctrl-C ends it\n`);
  await everyFrame(signal, () => {
    for (const { order, stations, complete } of provider.status().stories) {
      if (!complete || printed.has(order)) continue;
      printed.add(order);
      process.stdout.write(`${shortOrder(order)}: ${stations.map(({ name }) => name).join(" → ")}\n`);
    }
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
function summary(provider: Provider): string {
  const { storiesComplete, queues, topics } = provider.status();
  const dropped = topics.reduce((sum, topic) => sum + topic.dropped, 0);
  const failed = queues.reduce((sum, { counts }) => sum + counts.outcomes.failed, 0);
  return `${storiesComplete} stories complete, ${failed} runs failed, ${dropped} messages dropped`;
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

/** `akash-provider demo`, which is `npm start`: a chain, tenants and a provider in one process, and nothing left behind. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReadStream, WriteStream } from "node:tty";
import { Command } from "commander";
import { createDemo, type Demo, type DemoStatus } from "../box/demo.ts";
import { storyLine } from "../box/market-view.ts";
import { moneyText } from "../box/money-view.ts";
import { endsText } from "../box/tenants-service.ts";
import { renderView } from "../box/view.ts";
import { visitorCommands } from "../box/visitor-service.ts";
import { whole } from "../config/formats/plain.ts";
import { argumentOf } from "../config/options.ts";
import { realClock, sleep } from "../runtime/clock.ts";
import { createLog } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import { abortOnSignals } from "./signals.ts";
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

const storyCount = { ...whole(1, Number.MAX_SAFE_INTEGER), expects: "a whole number above 0" };

export function demoCommand(): Command {
  return new Command("demo")
    .description("show everything at work in one process, with a chain in a box; needs no settings")
    .option("--stories <number>", "end after this many deployments have gone all the way", argumentOf(storyCount))
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

async function demo(dataDir: string, { stories, live }: DemoOptions): Promise<void> {
  const ended = new AbortController();
  const quit = () => ended.abort();
  const signal = AbortSignal.any([abortOnSignals(), ended.signal]);
  const logLines: string[] = [];
  const drawn = live && process.stdout.isTTY === true;
  const destination = drawn ? { write: (line: string) => keepLine(logLines, line), lost: 0 } : undefined;
  const log = createLog({ timestamp: "kitchen", ...(destination && { destination }) });
  const provider = createDemo({ dataDir, version, stories, clock: realClock, random: realRandom, log });
  const hints = hintsFor(dataDir);
  const show = drawn ? drawFrames(hints, logLines, quit) : printStories(hints);
  try {
    await Promise.all([provider.run(signal).finally(quit), showFrames(provider, show, stories, signal, quit)]);
  } finally {
    process.stdout.write(`${summary(provider.status())}\n`);
  }
}

/** How a person sees what goes on. */
interface Show {
  frame(status: DemoStatus): void;
  end(): void;
}

async function showFrames(
  provider: Demo,
  show: Show,
  stories: number | undefined,
  signal: AbortSignal,
  quit: () => void,
) {
  try {
    while (!signal.aborted) {
      const status = provider.status();
      show.frame(status);
      if (isOver(status, stories)) quit();
      else await sleep(realClock, frameMs, signal).catch(() => undefined);
    }
    show.frame(provider.status());
  } finally {
    show.end();
  }
}

function drawFrames(hints: readonly string[], logLines: readonly string[], quit: () => void): Show {
  const terminal = openTerminal(process.stdin, process.stdout, quit);
  return {
    frame(status) {
      const { columns, rows, color } = terminal;
      terminal.draw(renderView(status, { title, hints, columns, rows, color, logLines }));
    },
    end: terminal.close,
  };
}

function printStories(hints: readonly string[]): Show {
  let printed = new Set<string>();
  let isTold = false;
  process.stdout.write(`${title}: tenants and providers trade on a chain in a box; Ctrl-C ends it\n`);
  return {
    frame({ market, services }) {
      // Not before all of it works.
      if (!isTold && services.every(({ state }) => state === "running")) {
        isTold = true;
        process.stdout.write(hints.map((hint) => `${hint}\n`).join(""));
      }
      const ended = (market?.tenants.stories ?? []).filter(({ end }) => end !== undefined);
      for (const story of ended) {
        if (!printed.has(story.order)) process.stdout.write(`${storyLine(story, market?.answerTo(story.order))}\n`);
      }
      // No more than are still told of: the demo may run all day.
      printed = new Set(ended.map(({ order }) => order));
    },
    end: () => undefined,
  };
}

/** What a person, or a test, reads at the end. */
function summary(status: DemoStatus): string {
  const { bus: topics = [], chain, inventory, market, left } = status;
  const dropped = topics.reduce((sum, topic) => sum + topic.dropped, 0);
  const { height = 0n, landed = 0, failed = 0 } = chain ?? {};
  const transactions = `${landed} transactions landed, ${failed} failed`;
  const nodes = `${inventory?.nodes.filter(({ state }) => state === "offered").length ?? 0} nodes offered`;
  const ends = market ? ` (${endsText(market.tenants.ended)})` : "";
  const told = `${storiesTold(status)} stories complete${ends}, ${height} blocks`;
  const { namespaces, reservations, manifests } = left;
  const { token = 0, certificate = 0 } = market?.tenants.requests ?? {};
  const asked = `${token} requests by token, ${certificate} by certificate`;
  const over = `left ${namespaces} namespaces, ${reservations} reservations, ${manifests} manifests`;
  const money = moneyText(status.balance ?? { wallet: [], money: [] });
  return `${told}, ${transactions}, ${nodes}, ${dropped} messages dropped, ${asked}, ${over}; ${money}`;
}

/** A view of 80 columns shows them whole. */
function hintsFor(dataDir: string): string[] {
  return [
    "deploy docs/deploy.yaml, or an SDL of your own, from another terminal:",
    ...visitorCommands(dataDir).map((command) => `  ${command}`),
    "or ask it: bin/akash-provider orders, … why ORDER, … leases, … earnings",
  ];
}

/** All stories are told, nothing is left of them, and the books are even: all that was earned and deposited is home. */
function isOver(status: DemoStatus, stories = Number.POSITIVE_INFINITY): boolean {
  const { namespaces, reservations, manifests } = status.left;
  const isEven = (status.balance?.money ?? []).every(({ owed, locked }) => owed === 0n && locked === 0n);
  return storiesTold(status) >= stories && namespaces + reservations + manifests === 0 && isEven;
}

function storiesTold({ market }: DemoStatus): number {
  return Object.values(market?.tenants.ended ?? {}).reduce((sum, count) => sum + count, 0);
}

function keepLine(lines: string[], line: string): void {
  lines.push(line.trimEnd());
  if (lines.length > logLinesKept) lines.shift();
}

const command = "\u001b[";
const otherScreen = `${command}?1049h`;
const firstScreen = `${command}?1049l`;
const hideCursor = `${command}?25l`;
const showCursor = `${command}?25h`;
const home = `${command}H`;
const eraseLine = `${command}K`;
const eraseBelow = `${command}J`;

/** Draws frames on a terminal in place and restores it when closed. */
function openTerminal(input: ReadStream, output: WriteStream, onQuit: () => void) {
  output.write(otherScreen + hideCursor);
  const onKey = (key: Buffer) => {
    // In raw mode Ctrl-C and Ctrl-D arrive as bytes 3 and 4 instead of a signal.
    if (["q", "Q", "\u0003", "\u0004"].includes(key.toString())) onQuit();
  };
  const keys = input.isTTY === true;
  if (keys) {
    input.setRawMode(true);
    input.on("data", onKey);
  }
  return {
    get columns() {
      return output.columns;
    },
    get rows() {
      return output.rows;
    },
    color: output.hasColors(),
    draw(lines: readonly string[]): void {
      output.write(home + lines.map((line) => `${line}${eraseLine}`).join("\r\n") + eraseBelow);
    },
    close(): void {
      if (keys) {
        input.off("data", onKey);
        input.setRawMode(false);
        input.pause();
      }
      output.write(showCursor + firstScreen);
    },
  };
}

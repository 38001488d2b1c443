/**
 * Durable intents per second through the journal, against bare prepared inserts of the same rows into the same table
 * with the same settings and the same number per commit. The two alternate within one run, so that a disk which slows
 * down slows both; the ratio is the median over the rounds.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pragmas } from "../src/journal/connection.ts";
import type { NewIntent } from "../src/journal/intents.ts";
import { migrations } from "../src/journal/migrations.ts";
import { openJournal } from "../src/journal/open.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import { inTurn, median, medianRatio, report, round, size } from "./report.ts";

/** A block of the network rarely holds more orders than this; each makes one intent. */
const perCommit = 100;
/** SQLite folds its log back about every 40 commits of this size, so every round pays for it. */
const commitsPerRound = size(50, 5);
/** Odd, for a median; fewer let a busy neighbour on the disk move the ratio by a tenth. */
const rounds = size(41, 1);
const bars = { ratio: ["≥", 0.7] } as const;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const dir = temporaryFolder(owner);
  const { journal } = await openJournal({ dir: join(dir, "journal"), clock: realClock, log: silentLog });
  const bare = openBare(join(dir, "bare.db"));
  const commits = Array.from({ length: commitsPerRound }, (_, commit) =>
    Array.from({ length: perCommit }, (_, index) => bidIntent(commit * perCommit + index)),
  );
  const throughJournal = async () => {
    for (const intents of commits) {
      await Promise.all(intents.map((intent) => journal.durable("bid", (tables) => tables.intents.file(intent))));
    }
  };
  const throughBare = async () => {
    for (const intents of commits) bare.commit(intents);
  };

  const pairs = await inTurn(
    rounds,
    () => perSecond(throughJournal),
    () => perSecond(throughBare),
  );
  bare.close();
  await journal.close();

  const ratio = medianRatio(pairs, (perS) => perS);
  const intentsPerS = round(median(pairs.map(({ ours }) => ours)), 0);
  const barePerS = round(median(pairs.map(({ baseline }) => baseline)), 0);
  const bytes = JSON.stringify(bidIntent(0)).length;
  const rows = [
    { way: "journal", intentsPerS, bytes },
    { way: "bare SQLite", intentsPerS: barePerS, bytes },
  ];
  report(`journal: ${perCommit} durable intents per commit`, rows, { bench: "journal", ratio, intentsPerS }, bars);
}

/** What a loop does by hand at best: one statement, one transaction per group, text that is ready to be stored. */
function openBare(path: string): { commit(intents: NewIntent[]): void; close(): void } {
  const database = new DatabaseSync(path);
  for (const pragma of pragmas) database.exec(`PRAGMA ${pragma}`);
  for (const migration of migrations) database.exec(migration);
  const insert = database.prepare(
    "INSERT INTO intents (what, subject, why, body, priority, state, filed_at, expires_at) VALUES (?, ?, ?, ?, ?, 'filed', ?, ?)",
  );
  const bodies = new Map<NewIntent, string>();
  return {
    commit(intents) {
      database.exec("BEGIN IMMEDIATE");
      for (const intent of intents) {
        const { what, subject, why, priority, expiresAtMs } = intent;
        const body = bodies.get(intent) ?? JSON.stringify(intent.body);
        bodies.set(intent, body);
        insert.run(what, subject, why, body, priority, realClock.now(), expiresAtMs ?? null);
      }
      database.exec("COMMIT");
    },
    close: () => database.close(),
  };
}

/** As the bid engine files it: some 400 bytes. */
function bidIntent(sequence: number): NewIntent {
  const owner = "akash1qg5ega6dykkxc307y25pecuufrjkxkaggkkxh7";
  const provider = "akash1u5cdg7k3gl43mukca4aeultuz8x2j68mgwn28e";
  return {
    what: "createBid",
    subject: `${owner}/${18_000_000 + sequence}/1/1`,
    why: "all checks passed",
    body: {
      order: { owner, dseq: String(18_000_000 + sequence), gseq: 1, oseq: 1 },
      provider,
      price: { denom: "uakt", amount: "12.480000000000000000" },
      deposit: { denom: "uakt", amount: "500000" },
      offers: [{ resources: { cpu: "500", memory: "536870912", storage: ["1073741824"], gpu: "0" }, count: 1 }],
    },
    priority: 1,
    expiresAtMs: 1_800_000_000_000 + sequence,
  };
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (commitsPerRound * perCommit * 1_000) / (performance.now() - startedMs);
}

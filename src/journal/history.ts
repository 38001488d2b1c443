/** What an operator wants to read back: one line per thing that happened. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface NewHistoryLine {
  /** "journal", "lease" …: what part of the program speaks. */
  readonly kind: string;
  readonly subject: string;
  readonly line: string;
}

export interface HistoryLine extends NewHistoryLine {
  readonly id: number;
  readonly atMs: number;
}

export interface HistoryReads {
  /** The newest first. */
  recent(limit: number): HistoryLine[];
  about(subject: string, limit: number): HistoryLine[];
}

export interface History extends HistoryReads {
  add(line: NewHistoryLine): number;
}

interface Row extends NewHistoryLine {
  id: number;
  at: number;
}

export function createHistory(sql: Sql, clock: Clock): History {
  const recent = sql.all<Row>("SELECT * FROM history ORDER BY id DESC LIMIT ?");
  const about = sql.all<Row>("SELECT * FROM history WHERE subject = ? ORDER BY id DESC LIMIT ?");
  const add = sql.run("INSERT INTO history (kind, subject, line, at) VALUES (?, ?, ?, ?)");
  return {
    recent: (limit) => recent(limit).map(fromRow),
    about: (subject, limit) => about(subject, limit).map(fromRow),
    add: ({ kind, subject, line }) => Number(add(kind, subject, line, clock.now()).lastInsertRowid),
  };
}

function fromRow({ id, kind, subject, line, at }: Row): HistoryLine {
  return { id, kind, subject, line, atMs: at };
}

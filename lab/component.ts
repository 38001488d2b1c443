import type { Command } from "./processes.ts";

/** One long-lived process of the lab. */
export interface Component {
  readonly name: string;
  /** Writes the files it reads; called before every start. */
  prepare?(): void;
  command(): Command;
  ready(): Promise<boolean>;
}

/** How often calls ended how. A method has a row of numbers, one per code: there are thousands of calls a second. */
import { grpcCodes } from "./grpc-status.ts";

export type Ends = number[];

export interface CallEnds {
  /** Of a method that there is, by its path. */
  of(path: string): Ends;
  /** Of all that asked for something else. */
  readonly others: Ends;
  readonly methods: ReadonlyMap<string, Readonly<Ends>>;
}

const codes = Object.values(grpcCodes);

export function createCallEnds(): CallEnds {
  const methods = new Map<string, Ends>();
  const row = (): Ends => codes.map(() => 0);
  return {
    of(path) {
      let ends = methods.get(path);
      if (!ends) {
        ends = row();
        methods.set(path, ends);
      }
      return ends;
    },
    others: row(),
    methods,
  };
}

export function countEnd(ends: Ends, code: number): void {
  ends[code] = (ends[code] ?? 0) + 1;
}

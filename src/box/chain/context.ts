/** What a module is handed while it works: a place in the chain, the state, a gas meter and somewhere to put events. */
import { formatTime, nsToMs } from "../../runtime/clock.ts";
import type { AbciEvent } from "./abci.ts";
import { type GasMeter, meteredStore } from "./gas.ts";
import type { BlockPoint, Context } from "./module.ts";
import type { Store } from "./store.ts";

/** Without a meter nothing is paid: blocks and queries are free. */
export function createContext(at: BlockPoint, store: Store, events: AbciEvent[], meter?: GasMeter): Context {
  return {
    ...at,
    store: meter ? meteredStore(store, meter) : store,
    useGas: (amount, what) => meter?.use(Number(amount), what),
    emit: (event) => events.push(event),
  };
}

/** "2026-11-15T08:24:11.82854255Z": up to nine digits, without the zeros at the end. */
export function timeJson(ns: bigint): string {
  const seconds = formatTime(nsToMs(ns)).slice(0, "2026-11-15T08:24:11".length);
  const fraction = (ns % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  return fraction === "" ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}

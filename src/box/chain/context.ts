/** What a module is handed while it works: a place in the chain, the state, a gas meter and somewhere to put events. */
import type { AbciEvent } from "./abci.ts";
import { type GasMeter, meteredStore } from "./gas.ts";
import type { Context } from "./module.ts";
import type { Store } from "./store.ts";

/** Where in the chain something happens. */
export interface BlockPoint {
  readonly chainId: string;
  readonly height: bigint;
  readonly timeNs: bigint;
}

/** Without a meter nothing is paid: blocks and queries are free. */
export function createContext(at: BlockPoint, store: Store, events: AbciEvent[], meter?: GasMeter): Context {
  return {
    chainId: at.chainId,
    height: at.height,
    timeNs: at.timeNs,
    store: meter ? meteredStore(store, meter) : store,
    useGas: (amount, what) => meter?.use(Number(amount), what),
    emit: (event) => events.push(event),
  };
}

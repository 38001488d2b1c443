/** The embedded node ready to start: the application with its beginning, on the wire. A file remembers both. */
import { type Coin, formatCoins, parseCoins } from "../../market/coin.ts";
import { msToNs } from "../../runtime/clock.ts";
import { createApp } from "./app.ts";
import type { Genesis } from "./genesis.ts";
import { createMarketplace } from "./modules/marketplace.ts";
import { createNode, type Node, type NodeOptions } from "./node/node.ts";
import { type Origin, recordedOrigin } from "./node/persistence.ts";

interface EmbeddedNodeOptions extends Omit<NodeOptions, "app" | "genesis"> {
  /** These say how a new chain begins; one that is already in the file goes on as it began. */
  readonly chainId: string;
  readonly accounts: readonly { readonly address: string; readonly coins: readonly Coin[] }[];
  readonly closeDryLeasesInEndBlock?: boolean;
}

/** What is kept of the beginning, as JSON. */
interface State {
  readonly accounts: Readonly<Record<string, string>>;
  readonly closeDryLeasesInEndBlock: boolean;
}

export function createEmbeddedNode(options: EmbeddedNodeOptions): Node {
  const { chainId, timeNs, initialHeight, state } = beginningOf(options);
  const { accounts, closeDryLeasesInEndBlock } = state as State;
  const genesis: Genesis = {
    chainId,
    timeNs,
    initialHeight,
    accounts: Object.entries(accounts).map(([address, coins]) => ({ address, coins: parseCoins(coins) })),
  };
  const app = createApp(genesis, createMarketplace({ closeDryLeasesInEndBlock }));
  return createNode({ ...options, app, genesis: { timeNs, initialHeight, state } });
}

type Beginning = Pick<Origin, "chainId" | "timeNs" | "initialHeight" | "state">;

function beginningOf({
  file,
  chainId,
  accounts,
  clock,
  closeDryLeasesInEndBlock = false,
}: EmbeddedNodeOptions): Beginning {
  const recorded = file === undefined ? undefined : recordedOrigin(file);
  if (recorded) return recorded;
  const state: State = {
    accounts: Object.fromEntries(accounts.map(({ address, coins }) => [address, formatCoins(coins)])),
    closeDryLeasesInEndBlock,
  };
  return { chainId, timeNs: msToNs(clock.now()), initialHeight: 1n, state };
}

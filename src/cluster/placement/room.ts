/** What is free in the cluster. A picture says it of one moment; a room follows what is taken and given back since. */
import { invariant } from "../../runtime/invariant.ts";
import { type CardCount, cardsOf, kindsFor, type NodeCards, takeCards } from "./cards.ts";
import type { Claim } from "./demand.ts";

/** What one moment's picture has for sale. */
export interface ClusterRoom {
  /** Only those that are offered. */
  readonly nodes: readonly NodeRoom[];
  /** Free bytes of each storage class; undefined where it has no end. */
  readonly classes: ReadonlyMap<string, bigint | undefined>;
}

/** What is free of one node. Below zero where it is overbooked: that much has to go before anything fits again. */
export interface NodeRoom {
  readonly name: string;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  readonly gpus: bigint;
  /** Those that are for sale by name, taken or not, without those that are known to be taken. */
  readonly cards: readonly CardCount[];
  /** How many of the cards are taken, held back or gone, and nobody knows which; see `unknownCards`. */
  readonly unknownCards: bigint;
  /** How many more volumes can be attached; undefined where nobody limits it. */
  readonly volumes: bigint | undefined;
  /** The classes whose volumes it can mount. */
  readonly storageClasses: readonly string[];
}

/** What a node runs out of, in the order of its amounts. */
export const nodeResources = ["cpu", "memory", "storage-ephemeral", "gpu", "volumes"] as const;
export type Amounts = readonly bigint[];
export const gpuAt = nodeResources.indexOf("gpu");

/** More than anybody can ask for. */
export const endless = 2n ** 100n;

export interface NodeState {
  readonly name: string;
  /** In the order of `nodeResources`. */
  readonly free: bigint[];
  readonly cards: NodeCards;
  readonly classes: ReadonlySet<string>;
}

export interface Room {
  /** By name. */
  readonly nodes: readonly NodeState[];
  readonly classes: ReadonlyMap<string, bigint>;
  node(name: string): NodeState | undefined;
  /** Without a look at whether it fits: what is promised is promised, also when a newer picture has less. */
  take(claim: Claim): void;
  /** Exactly what was taken from this very room. */
  giveBack(claim: Claim): void;
}

export function openRoom(picture: ClusterRoom): Room {
  const nodes = picture.nodes.map(stateOf).sort((left, right) => (left.name < right.name ? -1 : 1));
  const byName = new Map(nodes.map((node) => [node.name, node]));
  invariant(byName.size === nodes.length, "two nodes have one name");
  const classes = new Map(Array.from(picture.classes, ([name, bytes]) => [name, bytes ?? endless]));
  const change = (claim: Claim, sign: 1n | -1n) => {
    const node = byName.get(claim.node);
    // A node that is no longer in the picture has nothing to take from, and got nothing taken.
    if (node) takeFrom(node, claim, sign);
    for (const [name, bytes] of claim.classes) {
      const left = classes.get(name);
      if (left !== undefined) classes.set(name, left - sign * bytes);
    }
  };
  return {
    nodes,
    classes,
    node: (name) => byName.get(name),
    take: (claim) => change(claim, 1n),
    giveBack: (claim) => change(claim, -1n),
  };
}

/** How many cards are not free, of which it is not known which: the list may be longer or shorter than what can be given. */
export function unknownCards(listed: bigint, allocatable: bigint, free: bigint): bigint {
  return (listed > allocatable ? listed : allocatable) - free;
}

function takeFrom(node: NodeState, { amounts, cards }: Claim, sign: 1n | -1n): void {
  for (let at = 0; at < amounts.length; at += 1) node.free[at] = (node.free[at] ?? 0n) - sign * (amounts[at] ?? 0n);
  if (cards) takeCards(node.cards, kindsFor(node.cards, cards), sign * (amounts[gpuAt] ?? 0n));
}

function stateOf(node: NodeRoom): NodeState {
  const { name, cpuMilli, memoryBytes, ephemeralBytes, gpus, volumes = endless } = node;
  return {
    name,
    free: [cpuMilli, memoryBytes, ephemeralBytes, gpus, volumes],
    cards: cardsOf(node.cards, node.unknownCards),
    classes: new Set(node.storageClasses),
  };
}

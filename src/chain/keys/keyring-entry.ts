/** What one entry of a keyring says: the record of a key, in protobuf or, from older tools, in amino. */
import { PrivKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import { Record } from "@akashnetwork/chain-sdk/private-types/cosmos.v1";
import { readAminoEntry, readAminoKey } from "./amino.ts";

/** "unusable": a sound entry of a key that cannot sign here. "damaged": not an entry at all. */
export type EntryFault = { readonly fault: "unusable" | "damaged"; readonly reason: string };

const privateKeyType = `/${PrivKey.$type}`;

export function readEntry(bytes: Uint8Array): Uint8Array | EntryFault {
  try {
    const amino = readAminoEntry(bytes);
    if (amino) return usable(readAminoKey(amino));
    return readRecord(Record.decode(bytes));
  } catch {
    // The decoders quote what they could not read, and that may be half of a key.
    return { fault: "damaged", reason: "it is no record of a key" };
  }
}

function readRecord(record: Record): Uint8Array | EntryFault {
  if (record.ledger) return unusable("it is on a Ledger device, and nobody is there to press its button");
  if (record.multi) return unusable("it is a multi-signature key");
  if (record.offline) return unusable("only its public half is there");
  const key = record.local?.privKey;
  if (!key) return { fault: "damaged", reason: "it is no record of a key" };
  if (key.typeUrl !== privateKeyType) return unusable("it is no secp256k1 key, which accounts have");
  return PrivKey.decode(key.value).key;
}

function usable(key: Uint8Array | { readonly fault: string }): Uint8Array | EntryFault {
  return "fault" in key ? unusable(key.fault) : key;
}

function unusable(reason: string): EntryFault {
  return { fault: "unusable", reason };
}

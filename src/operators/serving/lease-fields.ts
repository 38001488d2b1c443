/** A lease as the network's operators tell of one: in their order, and with the number of the bid, which is none of theirs. */
import type { LeaseId } from "../../market/ids.ts";

export function leaseFields({ owner, dseq, gseq, oseq, provider }: LeaseId): object {
  return { owner, dseq, gseq, oseq, provider, bseq: 0 };
}

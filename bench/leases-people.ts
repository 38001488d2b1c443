/** Who meets on the chain of the leases benchmark, the same in each of its processes. */
import { createSigner, type Signer } from "../src/chain/keys/signer.ts";
import { bidOn, type DeploymentId, type LeaseId } from "../src/market/ids.ts";
import { createSeededRandom } from "../test/support/seeded-random.ts";

const random = createSeededRandom(1);

export const chainId = "leases-1";
export const providerSigner = createSigner(random.bytes(32));
export const tenantSigner = createSigner(random.bytes(32));
/** Has the deployments from here on. */
export const otherSigner = createSigner(random.bytes(32));
export const firstOfOther = 1_000_000;

/** Each has one deployment, from here on. */
export const crowdSigners = Array.from({ length: 16 }, () => createSigner(random.bytes(32)));
export const firstOfCrowd = 2_000_000;

/** An image whose containers print more than what is between a reader and us can hold. */
export const talkative = "example.com/talkative:1";

export function signerOf(dseq: number): Signer {
  const inCrowd = crowdSigners[dseq - firstOfCrowd];
  return inCrowd ?? (dseq < firstOfOther ? tenantSigner : otherSigner);
}

export function deploymentOf(dseq: number): DeploymentId {
  return { owner: signerOf(dseq).address, dseq: BigInt(dseq) };
}

export function leaseOf(dseq: number): LeaseId {
  return bidOn({ ...deploymentOf(dseq), gseq: 1, oseq: 1 }, providerSigner.address);
}

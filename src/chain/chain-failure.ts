import { ProviderError } from "../runtime/errors.ts";

/** What nodes do to us passes or is repaired; any other failure is ours and must come to light. */
export function isOfChain(thrown: unknown): thrown is ProviderError {
  return thrown instanceof ProviderError && thrown.code.startsWith("AKP_CHAIN_");
}

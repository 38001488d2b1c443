/** What a unit's gpu is called in lists of prices: model, model.memory, model.interface or all three. */
import type { Attribute } from "../../market/group-spec.ts";
import type { NamedPrices } from "./price-settings.ts";

interface PricedCard {
  readonly model: string;
  readonly ram?: string;
  readonly interface?: string;
}

/** As they are written, "vendor/nvidia/model/a100/ram/80Gi/interface/sxm"; of several of a vendor, the last. */
export function cardsByVendor(attributes: readonly Attribute[]): Map<string, PricedCard> {
  const cards = new Map<string, PricedCard>();
  for (const { key } of attributes) {
    const parts = key.split("/");
    const named = (word: string) => parts.find((_, index) => index % 2 === 1 && parts[index - 1] === word);
    const [vendor, model, ram, connector] = ["vendor", "model", "ram", "interface"].map(named);
    if (vendor === undefined || model === undefined) continue;
    cards.set(vendor, { model, ...(ram && { ram }), ...(connector && { interface: connector }) });
  }
  return cards;
}

/** "a100.80Gi.sxm"; nothing where no card is named. */
export function cardName(attributes: readonly Attribute[]): string {
  const cards = cardsByVendor(attributes);
  const card = cards.get("nvidia") ?? cards.get("amd");
  return card ? [card.model, card.ram, card.interface].filter(Boolean).join(".") : "";
}

/** By the whole name, then without its last part, then by the model alone. */
export function priceOfCard(name: string, prices: NamedPrices) {
  const shorter = name.replace(/\.[^.]*$/, "");
  const model = name.replace(/\..*$/, "");
  return prices.get(name) ?? prices.get(shorter) ?? prices.get(model);
}

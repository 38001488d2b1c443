/** Something that an operator should know, for as long as it is so. */
export interface Condition {
  /** One word of a list of ours: it is also the label of a metric. */
  readonly type: string;
  /** What it is about, where there can be several of a type. Type and subject tell one condition from another; the message may change. */
  readonly subject?: string;
  readonly message: string;
}

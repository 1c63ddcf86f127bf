/** Targets that an operator has taken out: the router does not choose them, and each comes back by itself. */

export interface TakenOutTarget {
  /** `upstream/model`. */
  readonly target: string
  readonly takenOutAt: number
  /** When it comes back. */
  readonly until: number
  readonly reason: string
}

/** The storage port, which all nodes share. Instants are milliseconds since the epoch. */
export interface TakenOutTargets {
  /** Those that are out now, by name. */
  list(now: number): Promise<readonly TakenOutTarget[]>
  /**
   * Takes a target out, or changes when it comes back. `mayTakeOut` is asked within the transaction, with the targets that are out besides it:
   * of two operators who take out the last two targets of a product, one is refused. Returns how it was out before, if it was; undefined where
   * it was refused.
   */
  takeOut(
    target: TakenOutTarget,
    mayTakeOut: (takenOut: ReadonlySet<string>) => boolean,
  ): Promise<{ readonly before: TakenOutTarget | null } | undefined>
  /** Returns what was out; undefined where it was not. */
  bringBack(target: string, now: number): Promise<TakenOutTarget | undefined>
  sweep(now: number): Promise<void>
}

export const maxTakenOutMinutes = 1_440

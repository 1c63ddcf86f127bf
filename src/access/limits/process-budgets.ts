/** The budgets that the serving threads of one process share. */
import { systemClock } from '../../system/clock.ts'
import type { Clock } from '../../system/clock.ts'
import { BodyBudget } from './body-budget.ts'
import type { BodyBudgetBounds } from './body-budget.ts'
import { clearThread, createBudgetMemory, SharedBudget } from './shared-budget.ts'
import type { BudgetMemory } from './shared-budget.ts'
import { TokenCountLimiter } from './token-count-limiter.ts'

/** Passed to each thread. */
export interface ProcessBudgetMemory {
  readonly tokenCounts: BudgetMemory
  readonly accountBodies: BudgetMemory
  readonly addressBodies: BudgetMemory
}

export function createProcessBudgetMemory(threads: number): ProcessBudgetMemory {
  return {
    tokenCounts: createBudgetMemory(threads),
    accountBodies: createBudgetMemory(threads),
    addressBodies: createBudgetMemory(threads),
  }
}

/** Gives back what a thread that has ended had in use. */
export function clearProcessBudgets(memory: ProcessBudgetMemory, thread: number): void {
  clearThread(memory.tokenCounts, thread)
  clearThread(memory.accountBodies, thread)
  clearThread(memory.addressBodies, thread)
}

interface ProcessBudgetOptions {
  readonly bodies: BodyBudgetBounds
  readonly maxWaitMs: number
  readonly clock?: Clock
}

/** @param thread from 0 */
export function openProcessBudgets(
  memory: ProcessBudgetMemory,
  thread: number,
  { bodies, maxWaitMs, clock = systemClock }: ProcessBudgetOptions,
): { readonly tokenCounts: TokenCountLimiter; readonly bodies: BodyBudget } {
  return {
    tokenCounts: new TokenCountLimiter({ budget: new SharedBudget(memory.tokenCounts, thread), maxWaitMs, clock }),
    bodies: new BodyBudget({
      accounts: new SharedBudget(memory.accountBodies, thread),
      addresses: new SharedBudget(memory.addressBodies, thread),
      bounds: bodies,
    }),
  }
}

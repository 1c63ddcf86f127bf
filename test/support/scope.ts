/** Where what is started ends, and who hears why it cannot be: a test, or a program that takes its place. */
export interface Scope {
  /** What was said last is done first. */
  teardown(end: () => unknown): void
  plan(count: 0, reason: string): void
  fail(reason: string): unknown
}

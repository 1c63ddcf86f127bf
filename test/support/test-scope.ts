/** The lifetime of started programs and the receiver of their errors: a test, or a program in its place. */
export interface TestScope {
  /** Runs in reverse order of registration. */
  teardown(cleanup: () => unknown): void
  plan(count: 0, reason: string): void
  fail(reason: string): unknown
}

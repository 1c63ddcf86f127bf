/** Something to see on each page of the console. */
import type { TestOperator } from '../gateway/operators.ts'
import type { TestGateway } from '../gateway/test-gateway.ts'

/** Returns what stands for the parameter of a page's path, by the path. */
export async function fillConsole(_gateway: TestGateway, _owner: TestOperator): Promise<Readonly<Record<string, string>>> {
  return {}
}

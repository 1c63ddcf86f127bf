/** Tests of a contract, each on an empty store with one account. */
import type { Test } from 'tap'
import { addAccount } from '../../../support/store/contract/store-contract.ts'
import type { Repositories } from './repository-contract.ts'

/** Returns an empty store as each of so many nodes has it, or fewer if more are not possible; it is closed at the end of the test. */
export type OpenNodes = (t: Test, nodes: number) => Promise<readonly Repositories[]>

type RunOnNodes = (t: Test, store: Repositories, nodes: readonly Repositories[]) => Promise<void>

export function createNodeTest(t: Test, open: OpenNodes): (name: string, run: RunOnNodes, count?: number) => void {
  return (name, run, count = 1) => {
    t.test(name, async (t) => {
      const nodes = await open(t, count)
      const [store] = nodes
      if (store === undefined) throw new Error('no store was opened')
      await addAccount(store)
      await run(t, store, nodes)
    })
  }
}

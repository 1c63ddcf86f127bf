/** What subjects have in use, over threads; the threads here are views of the same memory. */
import t from 'tap'
import { clearThread, createBudgetMemory, SharedBudget } from '../../../../src/access/limits/shared-budget.ts'

const bounds = { max: 4, maxTotal: 10 }

t.test('bounds what a subject uses, whichever thread it uses it in', async (t) => {
  const memory = createBudgetMemory(2)
  const [one, other] = [new SharedBudget(memory, 0), new SharedBudget(memory, 1)]
  t.equal(one.take('a', 3, bounds), 'taken')
  t.equal(other.take('a', 2, bounds), 'subject_full')
  t.equal(other.take('a', 1, bounds), 'taken')
  one.give('a', 3)
  t.equal(other.take('a', 3, bounds), 'taken')
  t.equal(one.total, 4, 'a refused amount is not counted')
})

t.test('bounds what all subjects use', async (t) => {
  const budget = new SharedBudget(createBudgetMemory(1), 0)
  for (const subject of ['a', 'b']) t.equal(budget.take(subject, 4, bounds), 'taken')
  t.equal(budget.take('c', 4, bounds), 'total_full')
  t.equal(budget.take('c', 2, bounds), 'taken')
  t.equal(budget.total, 10)
})

t.test('gives back what a thread that died had in use, and nothing of others', async (t) => {
  const memory = createBudgetMemory(2)
  const [dead, living] = [new SharedBudget(memory, 0), new SharedBudget(memory, 1)]
  dead.take('a', 2, bounds)
  living.take('a', 1, bounds)
  clearThread(memory, 0)
  t.equal(living.total, 1)
  t.equal(living.take('a', 3, bounds), 'taken')
})

/** The pieces of a streamed answer become those of a whole one. */
import t from 'tap'
import type { AnswerEvent } from '../../../src/conversation/answer-event.ts'
import { AnswerCollector } from '../../../src/conversation/collect-answer.ts'

function collect(...pieces: readonly AnswerEvent[]): readonly AnswerEvent[] {
  const collector = new AnswerCollector()
  for (const piece of pieces) collector.push([piece])
  return collector.events
}

const text = (value: string): AnswerEvent => ({ kind: 'text', text: value })
const reasoning = (value: string): AnswerEvent => ({ kind: 'reasoning', text: value, field: 'reasoning_content' })
const piece = (index: number | null, id: string, name: string, args: string): AnswerEvent => ({
  kind: 'call',
  index,
  id,
  name,
  arguments: args,
})

t.test('joins what follows one another, and keeps the order of the rest', async (t) => {
  const signed = { kind: 'signed-reasoning', signed: { field: 'anthropic_thinking', value: {} } } as const
  t.same(collect(reasoning('a'), reasoning('b'), signed, reasoning('c'), text('d'), text('e'), reasoning('f'), text('g')), [
    reasoning('ab'),
    signed,
    reasoning('c'),
    text('de'),
    reasoning('f'),
    text('g'),
  ])
})

t.test('joins the pieces of each call, also where they alternate', async (t) => {
  t.same(collect(piece(0, 'a', 'f', ''), piece(1, 'b', '', '{'), text('x'), piece(0, '', '', '{}'), piece(1, '', 'g', '}')), [
    piece(0, 'a', 'f', '{}'),
    piece(1, 'b', 'g', '{}'),
    text('x'),
  ])
  t.same(collect(piece(null, 'a', 'f', '{}'), piece(null, 'b', 'g', '{}')).length, 2, 'whole calls have no index')
})

t.test('keeps log probabilities with their text', async (t) => {
  const probable = { ...text('a'), logprobs: { content: [1] } } as AnswerEvent
  t.same(collect(probable, text('b'), probable), [probable, text('b'), probable])
})

t.test('changes no event that it received', async (t) => {
  const first = text('a')
  collect(first, text('b'))
  t.same(first, text('a'))
})

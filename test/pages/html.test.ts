import t from 'tap'
import { dataBlock, html } from '../../src/pages/html.ts'

const nasty = `<script>alert(1)</script> & "quoted" 'single'`

t.test('text in a template stays text', async (t) => {
  const page = html`<p title="${nasty}">${nasty}</p>`.toString()
  t.notMatch(page, '<script>')
  t.equal(page.split('<').length, 3, 'no tags but the template’s own')
  t.match(page, '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#39;single&#39;')
})

t.test('what a template made is put into another as it is, lists too', async (t) => {
  const item = (text: string) => html`<i>${text}</i>`
  const items = [item('a'), item('<b>')]
  t.equal(html`<p>${items}</p>`.toString(), '<p><i>a</i><i>&lt;b&gt;</i></p>')
})

t.test('nothing is left by null, undefined and false, and a zero is shown', async (t) => {
  t.equal(html`[${null}${undefined}${false}${0}]`.toString(), '[0]')
})

t.test('an object that only looks like markup is refused by escaping its text', async (t) => {
  const sneaky = { toString: () => '<img src=x onerror=alert(1)>' }
  // A value that slipped past the types, as one parsed from JSON could.
  t.throws(() => html`${sneaky as unknown as string}`.toString())
})

t.test('data for scripts cannot end its block', async (t) => {
  const block = dataBlock('data', { text: '</script><script>alert(1)</script><!--' }).toString()
  t.equal(block.match(/<\/?script/g)?.length, 2, 'one opening and one closing tag')
  const json = block.slice(block.indexOf('>') + 1, block.lastIndexOf('<'))
  t.same(JSON.parse(json), { text: '</script><script>alert(1)</script><!--' }, 'and it still says the same')
})

/** 文档页面的界面文字，正文在 `src/pages/docs/`。 */
import type { docs as english } from '../en/docs.ts'

export const docs: typeof english = {
  title: '文档',
  lead: '一个地址，一个密钥，适用于所有工具。',
  linkTo: '指向“{heading}”的链接',
  onThisPage: '本页内容',
  allPages: '全部页面',
  tools: '工具',
  search: '搜索文档',
  matches: '“{query}”共找到 {count} 处。',
  noMatch: '没有找到“{query}”。',
  asMarkdown: '本页的 Markdown 版本',
  next: '下一页：{page}',
  yourKey: '你的密钥',
  keyHint: '粘贴后会显示在示例中。密钥只留在此标签页，不会发送。',
  makeKey: '创建密钥',
}

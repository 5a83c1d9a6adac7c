// The style of the pages for people, and of those on which operators moderate. It is a file of its
// own, because pages have no inline style.

import { avatarStyle } from './avatar.ts'
import { palette } from './html.ts'

export const pageStyle = `${palette}* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Noto Sans CJK SC",
    "PingFang SC", "Hiragino Sans", "Yu Gothic", "Microsoft YaHei", "Apple Color Emoji",
    "Segoe UI Emoji", "Noto Color Emoji", sans-serif;
  overflow-wrap: anywhere;
}
body > * { max-width: 56rem; margin-inline: auto; padding-inline: 1rem; }
main > :is(p, ul, form, fieldset, .content),
.content > :is(p, ul, ol, blockquote) { max-width: 44rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
a:focus-visible, summary:focus-visible, form :focus-visible,
.content:focus-visible, pre:focus-visible, .wide:focus-visible, .scroll:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px;
}
article:focus { outline: none; }
article:focus-visible { outline: 3px solid var(--link); outline-offset: 0.5rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
header.site { display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; align-items: center; }
header.site { padding-block: 0.75rem; }
header.site nav { display: flex; gap: 1rem; }
header.site a { text-decoration: none; }
header.site a:hover { text-decoration: underline; }
header.site .brand { font-weight: 700; color: var(--text); }
header.site [role="search"] {
  display: flex; flex: 1 1 11rem; gap: 0.5rem; max-width: 24rem; margin-left: auto;
}
input, button, select {
  min-width: 0; padding: 0.3rem 0.6rem; border: 1px solid var(--soft); border-radius: 0.25rem;
  background: var(--ground); color: var(--text); font: inherit; font-size: 0.9375rem;
}
input { flex: 1; }
input::placeholder { color: var(--soft); opacity: 1; }
button { cursor: pointer; }
button:hover { border-color: var(--link); color: var(--link); }
h1 { font-size: 1.75rem; line-height: 1.2; margin-block: 1.25rem 0.75rem; text-wrap: balance; }
h1:has(+ .about) { margin-bottom: 0.25rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin-block: 2rem 0.5rem; }
.about { color: var(--soft); font-size: 0.875rem; margin-block: 0.25rem 1rem; }
.about a { color: inherit; }
.about a:has(bdi), .newest a { color: var(--text); text-decoration: none; }
.about a:has(bdi):hover, .newest a:hover { text-decoration: underline; }
.about .name { font-weight: 600; }
.kind, .pill {
  display: inline-block; padding: 0 0.5rem; border: 1px solid var(--line); border-radius: 1rem;
  color: var(--soft); background: var(--code); font-size: 0.8125rem; line-height: 1.5;
  text-decoration: none; white-space: nowrap;
}
a.pill:hover { border-color: var(--link); color: var(--link); }
.about time { white-space: nowrap; }
.id { font: 0.8125rem ui-monospace, monospace; }
h1, ol.list > li, article { overflow: clip; overflow-clip-margin: 0.5rem; }
ul { padding-left: 1.25rem; }
ol.list { list-style: none; margin: 0; padding: 0; }
ol.list > li { border-top: 1px solid var(--line); padding-block: 0.75rem; }
ol.list .about { margin-bottom: 0; }
ol.list .title { font-weight: 500; color: var(--text); text-decoration: none; }
ol.list .title:hover { color: var(--link); text-decoration: underline; }
ol.list .title:visited { color: var(--soft); }
ol.threads > li {
  display: grid; gap: 0.125rem 0.75rem; align-items: center;
  grid: "picture what" auto "picture count" auto / auto 1fr;
}
ol.threads > li > .avatar { grid-area: picture; align-self: start; margin-top: 0.125rem; }
ol.threads p { margin: 0; }
ol.threads .what { min-width: 0; }
ol.threads .what .about { display: block; margin: 0; }
ol.threads .count, .newest { color: var(--soft); font-size: 0.875rem; }
ol.threads .count { grid-area: count; }
ol.threads .count b { font-weight: 600; color: var(--text); font-variant-numeric: tabular-nums; }
ol.threads .newest { grid-area: count; justify-self: end; }
.newest a { font-weight: 400; }
.newest time { white-space: nowrap; }
ol.list .unread .title, ol.list .unread .title:visited { font-weight: 700; color: var(--text); }
.dot {
  display: inline-block; width: 0.5rem; height: 0.5rem; margin-right: 0.375rem; border-radius: 50%;
  background: var(--link); vertical-align: middle;
}
@media (min-width: 45rem) {
  ol.threads > li { grid: "picture what count newest" auto / auto 1fr 5.5rem 10rem; }
  ol.threads .count { text-align: end; }
  ol.threads .newest { grid-area: newest; text-align: end; }
  ol.threads .newest :is(bdi, time) { display: block; }
}
mark { background: var(--mark); color: var(--text); border-radius: 0.125rem; }
.excerpt { margin-block: 0.25rem; }
.excerpt.begun::before, .excerpt.cut::after { content: "\\2026"; color: var(--soft); }
article { border-top: 1px solid var(--line); padding-block: 0.875rem 1rem; }
article { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 0.75rem; }
article > * { grid-column: 2; }
article > .avatar { grid-area: 1 / 1 / span 3 / 1; }
article > .about:first-of-type {
  display: flex; flex-wrap: wrap; gap: 0 0.5rem; align-items: baseline;
}
.links { margin-left: auto; display: flex; gap: 0.75rem; }
.links a, .id { color: var(--soft); }
.opening {
  border: 1px solid var(--line); border-radius: 0.5rem; background: var(--raised);
  padding-inline: 0.875rem; margin: 0 -0.9375rem 0.5rem;
}
.opening + article { border-top: 0; }
@media (max-width: 40rem) {
  header.site :is(.account, .sign-in) { order: -1; margin-left: auto; }
  header.site .brand { order: -2; }
  header.site [role="search"] { flex-basis: 100%; max-width: none; }
  article > .avatar { width: 1.5rem; height: 1.5rem; grid-row: 1; }
  article > .content, article > .note, article > .about ~ .about { grid-column: 1 / -1; }
}
article[tabindex] { border-top-color: var(--link); }
article { scroll-margin-top: 1rem; }
article > .about { margin-block: 0 0.375rem; }
article:target { border-left: 4px solid var(--link); padding-left: 0.75rem; }
.content p, .content li, .content td, .source { white-space: pre-wrap; }
.content > :first-child { margin-top: 0; }
.content > :last-child { margin-bottom: 0; }
.content p, .content ul, .content ol { margin-block: 0.625rem; }
.content ol { padding-left: 1.75rem; }
.content li > ul, .content li > ol { margin-block: 0.125rem; }
.content li { padding-block: 0.0625rem; }
.content .h1, .content .h2 { font-size: 1.125rem; }
.content .h1, .content .h2, .content .h3, .content .h4, .content .h5, .content .h6 {
  font-weight: 650; line-height: 1.35; margin-block: 1.125rem 0.375rem;
}
.content hr { border: 0; border-top: 1px solid var(--line); margin-block: 1rem; }
.content[tabindex] { max-height: 40rem; overflow-y: auto; border: 1px solid var(--line); }
.content + .about { margin-top: 0.75rem; }
blockquote {
  margin: 0.625rem 0; padding-left: 0.875rem; border-left: 3px solid var(--line);
  color: var(--soft);
}
code { font: 0.875em/1.5 ui-monospace, monospace; }
.content code { padding: 0.0625rem 0.25rem; border-radius: 0.25rem; background: var(--code); }
pre {
  overflow-x: auto; overflow-wrap: normal; margin-block: 0.625rem; padding: 0.5rem 0.75rem;
  border: 1px solid var(--line); border-radius: 0.25rem; background: var(--code);
  font: 0.85rem/1.5 ui-monospace, monospace;
}
.source {
  padding: 0.5rem 0.75rem; border: 1px solid var(--line); border-radius: 0.25rem;
  background: var(--code); font: 0.875rem/1.55 ui-monospace, monospace;
}
details pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.wide, .scroll { overflow-x: auto; margin-block: 0.625rem; }
table { border-collapse: collapse; font-size: 0.9375rem; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: 0.25rem 0.625rem; text-align: start; }
th { background: var(--code); font-weight: 600; }
.facts { overflow-wrap: anywhere; }
.right { text-align: end; }
.center { text-align: center; }
code.id { user-select: all; }
details { border-top: 1px solid var(--line); padding-block: 0.5rem; }
summary { cursor: pointer; }
.note { color: var(--soft); font-style: italic; margin-block: 0.25rem; }
.private { font-weight: 600; font-size: 0.9375rem; margin-block: 0 1rem; }
h1 ~ .note { border-left: 4px solid var(--line); padding-left: 0.75rem; margin-block: 0 1rem; }
#news { position: sticky; bottom: 0; margin: 0; text-align: center; }
#news a {
  display: inline-block; margin-block: 0.5rem; padding: 0.4rem 1rem; border-radius: 2rem;
  background: var(--link); color: var(--ground); text-decoration: none; font-weight: 600;
}
nav.pages { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding-block: 0.75rem; }
nav.pages { border-top: 1px solid var(--line); }
nav.pages span { margin-left: auto; color: var(--soft); font-size: 0.875rem; }
nav.views { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; padding-block: 0 0.75rem; }
nav.views a { font-size: 0.9375rem; text-decoration: none; padding-block: 0.125rem; }
nav.views a:hover { text-decoration: underline; }
nav.views a[aria-current] {
  color: var(--text); font-weight: 600; border-bottom: 2px solid var(--link);
}
footer { color: var(--soft); font-size: 0.875rem; padding-block: 2rem; }
footer a { color: inherit; }
.account { position: relative; padding: 0; border: 0; }
.account summary { display: flex; align-items: center; gap: 0.5rem; list-style: none; }
.account summary::-webkit-details-marker { display: none; }
.account summary::after { content: "\\25be"; color: var(--soft); }
.account .avatar { width: 1.5rem; height: 1.5rem; }
.account summary bdi {
  max-width: 8rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
}
.account form {
  position: absolute; right: 0; z-index: 1; margin-top: 0.375rem; padding: 0.25rem 1rem;
  border: 1px solid var(--line); border-radius: 0.375rem; background: var(--raised);
  white-space: nowrap; box-shadow: 0 0.25rem 1rem rgb(0 0 0 / 12%);
}
.copied { position: relative; }
.copied .copy {
  position: absolute; top: 0.375rem; right: 0.375rem; padding: 0 0.5rem; font-size: 0.8125rem;
  opacity: 0;
}
.copied:is(:hover, :focus-within) .copy, .token .copy { opacity: 1; }
.token .copied code { padding-right: 4.5rem; }
@media (hover: none) { .copied .copy { opacity: 1; } }
h1 .avatar { vertical-align: text-bottom; margin-right: 0.75rem; }
form.entry { max-width: 40rem; }
.field label, legend { display: block; font-weight: 600; padding: 0; }
.field { margin-block: 0.75rem; }
.field input, textarea { width: 100%; }
textarea {
  display: block; padding: 0.5rem 0.6rem; border: 1px solid var(--soft); border-radius: 0.25rem;
  background: var(--ground); color: var(--text); font: inherit; resize: vertical;
}
.entry > p > button:last-of-type {
  background: var(--link); border-color: var(--link); color: var(--ground);
}
.entry > p > button:last-of-type:hover { background: var(--text); color: var(--ground); }
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.preview {
  border: 1px dashed var(--soft); border-radius: 0.375rem; padding: 0.75rem 0.875rem;
  background: var(--raised);
}
.hint { display: block; margin-top: 0.375rem; color: var(--soft); font-size: 0.875rem; }
.problem { color: var(--wrong); font-weight: 600; }
span.problem { display: block; margin-top: 0.375rem; font-size: 0.9375rem; }
p.problem { border-left: 4px solid var(--wrong); padding-left: 0.75rem; }
[aria-invalid] { border-color: var(--wrong); border-width: 2px; }
fieldset { border: 1px solid var(--line); border-radius: 0.25rem; margin: 0.75rem 0; }
.choices { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 0.25rem 0; }
.choices input, .field.choice input { flex: none; width: auto; }
.token code {
  display: block; padding: 0.75rem; border: 1px solid var(--line); background: var(--code);
  font: 0.875rem/1.5 ui-monospace, monospace; user-select: all;
}
:root { --wrong: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --wrong: #f2928c; } }
${avatarStyle}`

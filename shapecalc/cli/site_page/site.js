// The page asks the command line for everything: what a line means, its answer, its steps, its pictures and its film.
import { loadPyodide } from "./pyodide.mjs";

const EXAMPLES = {
  "Two shapes": "2,3,4 0,-1",
  "An error message": "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600",
  "A line of code": "x.view(2, -1) x=2,3,4",
  "View or permute?": "against 'reshape 3,2' 'transpose 1,0' --input 2,3",
  "Split heads": "8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3",
  "The batch is wrong": "reshape N,255,13,13 1,3,85,13,13",
  "It is refused": "reshape 2,3,4 5,-1",
};
const TYPING_PAUSE = 400; // milliseconds without a key, after which the line is answered
const byId = (id) => document.getElementById(id);
const write = (texts) => Object.entries(texts).forEach(([id, text]) => { byId(id).textContent = text ?? ""; });
const link = (key, value, text = value) =>
  Object.assign(document.createElement("a"), { href: `#${new URLSearchParams({ [key]: value })}`, textContent: text });
const ask = (...words) => JSON.parse(site.answer_line(...words));
let site; // the module of Python that answers
let stations = []; // of the path
let now = {}; // the question that is open

async function start() {
  if (typeof WebAssembly === "undefined") throw new Error("this browser runs no WebAssembly");
  const [path, program] = ["stations.json", "program.zip"].map((name) => fetch(name));
  stations = await (await path).json();
  byId("stations").append(...stations.map(({ id, title }, place) => link("path", id, `${place + 1}. ${title}`)));
  const python = await loadPyodide({ indexURL: "./", stdin: () => null });
  python.FS.writeFile("/program.zip", new Uint8Array(await (await program).arrayBuffer()));
  python.runPython("import os, sys; sys.path.insert(0, '/program.zip'); os.chdir('/tmp')");
  site = python.pyimport("shapecalc.cli.site");
}

// The address is the question: one to show, one to ask first, or a station of the path.
async function open() {
  const address = new URLSearchParams(location.hash.slice(1));
  const station = stations.find(({ id }) => id === address.get("path"));
  const line = station?.question ?? address.get("ask") ?? address.get("show") ?? Object.values(EXAMPLES)[0];
  const asks = station || address.has("ask");
  now = { line, station, ...ask(line) };
  byId("made").hidden = true;
  if (byId("line").value.trim() !== line) byId("line").value = line;
  byId("first").checked = address.has("ask");
  if (!asks) tell();
  await new Promise((done) => setTimeout(done)); // the answer is seen before it is drawn
  readSteps();
  if (asks && now.command) hide();
  else if (asks) tell();
  if (now.code === 3 && now.command && !asks) offerFix();
  draw(Math.min(Number(address.get("step")) || 0, now.steps.length));
}

function offerFix() {
  const fixed = site.apply_first_fix(now.command);
  if (fixed) byId("more").append("Try: ", link("show", fixed));
}

// What has no steps has no pictures. A film and a prediction need the line in shapecalc's own words.
function readSteps() {
  const { line, told, code } = now;
  const json = code === 0 || code === 3 ? ask(line, "--json").out : "";
  const found = json.startsWith("{") ? JSON.parse(json) : {};
  const stages = found.stages ?? (found.steps ? [found] : []);
  const read = /^read as: shapecalc (.*)$/m.exec(told)?.[1] ?? line;
  now.steps = stages.flatMap(({ op, input, output, steps }) =>
    steps.map(({ why }) => `${why} (${op} of ${input}${output ? ` gives ${output}` : ""})`));
  now.command = stages.length ? ask(line, "--as", "command").out.trim().replace(/^shapecalc /, "") || read : "";
}

function hide() {
  const { title, text, asks } = now.station ?? { title: now.command, asks: "Predict the output shape, or error:" };
  write({ title, text, asks, answer: "", told: "", more: "", judged: "", hint: "" });
  byId("guess").hidden = false;
  byId("shape").value = "";
  byId("shape").focus();
}

function tell(judged) {
  const { out, told, code, station } = now;
  const after = station && stations[stations.indexOf(station) + 1];
  const refusal = code === 3 ? "refused" : code && "no answer";
  const tried = /^ +(?:try|shows) +shapecalc (.+)$/m.exec(out)?.[1];
  byId("guess").hidden = true;
  const answer = (judged && station?.right) || out.trimEnd() || refusal || "";
  write({ judged, answer, told: told.trim().replace(/^shapecalc: /gm, ""), more: "" });
  byId("answer").className = /.\n.|.{50}/.test(out) ? "long" : "";
  if (after) byId("more").append("Next: ", link("path", after.id, after.title));
  if (tried) byId("more").append("See it: ", link("show", tried));
  if (judged) byId("answer").focus();
}

function draw(at = 0, film = false) {
  const { line, command, station, steps } = now;
  const hides = !byId("guess").hidden;
  const zoom = innerWidth < 700 ? 1 : 1.35;
  const width = Math.max(40, Math.min(80, Math.floor((byId("ask").clientWidth / zoom - 20) / 8))); // in characters
  const step = hides || at ? ["--step", `${at}`] : [];
  const more = film ? [`film ${command}`, "-o"] : [line, ...step, "--width", `${width}`, "--picture"];
  const own = hides && station && { picture: site.lesson_picture(station.id, width) };
  const { picture, told } = own || (command ? ask(...more, "picture.svg", "--force") : {});
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  now.playing = film && picture ? { svg: picture, second: 0, speed: 1, paused: still, since: performance.now() } : null;
  const whole = hides ? `the question ${command}, with its sizes open` : `${command}: ${byId("answer").value}`;
  const said = film ? `film of ${command}` : at ? `step ${at} of ${steps.length}: ${steps[at - 1]}` : "";
  const [src, cells] = [imageAddress(picture ?? ""), /width="(\d+)"/.exec(picture)?.[1]];
  Object.assign(now, { at, film });
  remember(at);
  Object.assign(byId("picture"), { src, width: zoom * cells, alt: said || whole, className: film ? "film" : "" });
  byId("walk").hidden = !command || hides;
  byId("figure").hidden = !picture;
  byId("keep").href = src;
  byId("film").setAttribute("aria-pressed", film);
  showFilm();
  byId("back").setAttribute("aria-disabled", at === 0);
  byId("next").setAttribute("aria-disabled", at === steps.length);
  write({ place: film && !picture ? told : said });
}

const imageAddress = (svg) => `data:image/svg+xml,${encodeURIComponent(svg)}`;

// The film is an image, whose clock scripts cannot stop: its times begin in the past, and are very long while it pauses.
function showFilm() {
  const film = now.playing;
  for (const id of ["pause", "speed"]) byId(id).hidden = !film;
  if (!film) return;
  const seconds = Number(/dur="([\d.]+)s"/.exec(film.svg)?.[1] ?? 1);
  const pace = film.paused ? 1e6 : 1 / film.speed;
  const times = `dur="${seconds * pace}s" begin="${-film.second * pace}s"`;
  byId("picture").src = imageAddress(film.svg.replaceAll(/dur="[\d.]+s"/g, times));
  write({ pause: film.paused ? "Play" : "Pause", speed: `Speed ${film.speed}` });
}

function changeFilm(change) {
  const film = now.playing;
  if (!film) return;
  if (!film.paused) film.second += (performance.now() - film.since) / 1000 * film.speed;
  film.since = performance.now();
  change(film);
  showFilm();
}

// The address names the step, too, so that a link opens it.
function remember(at) {
  const address = new URLSearchParams(location.hash.slice(1));
  if (at) address.set("step", at); else address.delete("step");
  const hash = `${address}`;
  if (`#${hash}` !== location.hash && location.hash + hash) history.replaceState(null, "", `#${hash}`);
}

function step(by) {
  if (!byId("walk").hidden) draw(Math.max(0, Math.min(now.steps.length, now.at + by)));
}

function answerWhileTyping() {
  const line = byId("line").value.trim();
  if (!site || !line || line === now.line || byId("first").checked) return;
  history.replaceState(null, "", link("show", line).hash);
  open().catch(fail);
}

const on = (id, event, does) => byId(id).addEventListener(event, (happened) => { happened.preventDefault(); does(); });
on("ask", "submit", () => {
  const { hash } = link(byId("first").checked ? "ask" : "show", byId("line").value);
  if (hash === location.hash && site) open();
  location.hash = hash;
});
on("guess", "submit", () => {
  const { right, feedback } = JSON.parse(site.judge_prediction(now.command, byId("shape").value, now.station?.id ?? ""));
  write({ hint: feedback });
  if (right) give(`right: ${feedback}`);
});
const fail = ({ message }) => write({ answer: "This page cannot go on.", told: message });
const give = (said) => { tell(said); draw(); };
on("give", "click", () => give(now.station?.point ?? "the answer is"));
on("back", "click", () => step(-1));
on("next", "click", () => step(1));
on("compare", "click", () => {
  if (!site || !now.command || !byId("guess").hidden) return;
  const { out, told } = ask(`compare ${now.command}`);
  write({ answer: out.trimEnd(), told: told.trim().replace(/^shapecalc: /gm, "") });
  byId("answer").className = "long";
});
on("copy", "click", async () => {
  await navigator.clipboard.writeText(location.href);
  write({ told: "The link is copied." });
});
on("film", "click", () => draw(now.at, !now.film));
on("pause", "click", () => changeFilm((film) => { film.paused = !film.paused; }));
on("speed", "click", () => changeFilm((film) => { film.speed = film.speed === 4 ? 0.5 : 2 * film.speed; }));
byId("line").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("ask").requestSubmit();
});
let pause;
byId("line").addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(answerWhileTyping, TYPING_PAUSE);
});
addEventListener("keydown", ({ key, target, altKey, ctrlKey, metaKey }) => {
  if (altKey || ctrlKey || metaKey || ["TEXTAREA", "INPUT"].includes(target.tagName)) return;
  if (key === "ArrowLeft") step(-1);
  if (key === "ArrowRight") step(1);
});
addEventListener("hashchange", () => site && open().catch(fail));
byId("examples").append(...Object.entries(EXAMPLES).map(([words, line]) => link("show", line, words)));

write({ told: "Python is starting in this page: about 14 MB, once. Nothing that you type leaves it. This is reshape 2,3,4 0,-1." });
start().then(open).catch(fail);

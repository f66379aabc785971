export { cassette } from "./read.js";

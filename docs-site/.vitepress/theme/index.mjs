// Without the fonts of the default theme: the fonts of the system need no download.
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

export default DefaultTheme;

#include "scripts/console.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <utf8proc.h>

enum { BAR_CELLS = 24, LINE_SIZE = 512 };

bool console_is_terminal(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && term && *term && strcmp(term, "dumb") != 0;
}

int console_columns(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* Bytes of the character at text and the columns it takes; a byte that is not UTF-8 is one
 * character of one column. text is not empty. */
static size_t character(const char *text, int *columns, utf8proc_int32_t *point)
{
    utf8proc_ssize_t length =
        utf8proc_iterate((const utf8proc_uint8_t *)text, -1, point);
    if (length <= 0) {
        *point = -1;
        *columns = 1;
        return 1;
    }
    *columns = utf8proc_charwidth(*point);
    return (size_t)length;
}

int console_width(const char *text)
{
    int width = 0, columns;
    utf8proc_int32_t point;
    while (*text) {
        text += character(text, &columns, &point);
        width += columns;
    }
    return width;
}

size_t console_fit(const char *text, int columns)
{
    size_t bytes = 0;
    while (text[bytes]) {
        int wide;
        utf8proc_int32_t point;
        size_t length = character(text + bytes, &wide, &point);
        if (wide > columns)
            break;
        columns -= wide;
        bytes += length;
    }
    return bytes;
}

void console_print_safe(const char *text, FILE *stream)
{
    while (*text) {
        int columns;
        utf8proc_int32_t point;
        size_t length = character(text, &columns, &point);
        bool control = point < 0 || (point < 0x20 && point != '\n') ||
                       (point >= 0x7f && point < 0xa0) ||
                       (point >= 0x202a && point <= 0x202e) ||
                       (point >= 0x2066 && point <= 0x2069);
        for (size_t i = 0; i < length; i++) {
            if (control)
                fprintf(stream, "\\x%02x", (unsigned char)text[i]);
            else
                putc(text[i], stream);
        }
        text += length;
    }
}

void console_time(char buffer[32], double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > 3.6e9) {
        buffer[0] = '\0';
        return;
    }
    long long whole = llround(seconds);
    if (whole < 60)
        snprintf(buffer, 32, "%lld s", whole);
    else if (whole < 3600)
        snprintf(buffer, 32, "%lld min %02lld s", whole / 60, whole % 60);
    else
        snprintf(buffer, 32, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
}

double console_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void console_open_standard(void)
{
    /* open takes the lowest free number: the loop fills 0, 1, 2 in turn. The mode is the
     * one the stream cannot be used with, so that its users see EBADF, not silence. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

Status console_close_output(Error *err)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) != 0)
        return error_errno(err, "standard output");
    if (failed)
        return error_set(err, STATUS_IO, "standard output: could not be written");
    return STATUS_OK;
}

Progress progress_start(const char *label, FILE *stream)
{
    Progress progress = {.stream = stream,
                         .label = label,
                         .terminal = console_is_terminal(stream),
                         .started = console_clock(),
                         .first = -1};
    progress.interval = progress.terminal ? 0.1 : 10;
    progress.drawn_at = progress.started;
    return progress;
}

/* "prepare [########------]  57%  12 s left  note" cut to the terminal's width. */
static void draw(Progress *progress, double fraction, double left, const char *note)
{
    char bar[BAR_CELLS + 3] = "", time_left[32], line[LINE_SIZE];
    if (progress->terminal) {
        int cells = (int)(fraction * BAR_CELLS);
        bar[0] = '[';
        for (int i = 0; i < BAR_CELLS; i++)
            bar[1 + i] = i < cells ? '#' : '-';
        bar[1 + BAR_CELLS] = ']';
    }
    console_time(time_left, left);
    snprintf(line, sizeof line, "%s %s%s%3d%%%s%s%s%s%s", progress->label, bar,
             *bar ? " " : "", (int)(fraction * 100), *time_left ? "  " : "", time_left,
             *time_left ? " left" : "", note && *note ? "  " : "", note ? note : "");
    if (progress->terminal) {
        /* One column stays free: a full line would make some terminals wrap. */
        int columns = console_columns(progress->stream) - 1;
        fprintf(progress->stream, "\r%.*s\033[K", (int)console_fit(line, columns),
                line);
        progress->drawn = true;
    } else {
        fprintf(progress->stream, "%s\n", line);
    }
    fflush(progress->stream);
}

void progress_update(Progress *progress, double fraction, const char *note)
{
    if (!(fraction >= 0))
        fraction = 0;
    if (fraction > 1)
        fraction = 1;
    if (progress->first < 0)
        progress->first = fraction;
    double now = console_clock();
    bool finished = fraction >= 1 && progress->drawn;
    if (now - progress->drawn_at < progress->interval && !finished)
        return;
    double done = fraction - progress->first;
    double left =
        done > 0 ? (now - progress->started) * (1 - fraction) / done : (double)NAN;
    progress->drawn_at = now;
    draw(progress, fraction, left, note);
}

void progress_clear(Progress *progress)
{
    if (!progress->drawn)
        return;
    fputs("\r\033[K", progress->stream);
    fflush(progress->stream);
    progress->drawn = false;
}

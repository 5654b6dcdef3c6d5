/*
 * redrive-launcher: starts commands for a runner, because a small process forks far cheaper than a large one.
 *
 * The runner writes requests to our stdin and reads replies from our stdout. Each command gets its own process
 * group, and we tell the runner when it has ended. We are the reaper of everything that descends from us, so when
 * the runner goes away (stdin ends, even after kill -9) we end it all and then ourselves. We never run a shell on
 * our own account.
 *
 * Output comes over pipes, because creating and removing a file costs more than a short command. Output that is large,
 * or that a command has printed some time before its end, goes on to a file, which others may read while it grows.
 *
 * On Linux we are two processes, so that kill -9 of one of them leaves nothing behind either: a guard, which the
 * runner started, and its child, which serves. When the server is killed, its orphans come to the guard, which ends
 * them; when the guard is killed, the server ends everything and itself.
 *
 * Frames, integers in host order and unaligned. `length` counts the bytes after itself.
 *
 *   request  u32 length, u8 kind, u32 id, then
 *     launch u8 flags, u32 argc, u32 envc, u32 text_bytes, queue (with FLAG_QUEUE), text, input (the rest)
 *            queue: u32 limit, u32 mark, u64 ref, u32 attempt, f64 monotonic_ms, f64 wall_ms
 *            text: NUL-terminated strings: cwd, stdout path, stderr path, argv..., NAME=value...
 *     ask    nothing
 *     marks  the path of the marks file, NUL-terminated
 *     cancel nothing; a command that has started is not changed
 *   reply    u32 length, u8 kind, u32 id, then
 *     ended  u8 stage, u8 reports (0: none of its report files is there), i32 exit_code (-1: none), i32 signal (0: none), i32 errno (0: it started),
 *            f64 duration_ms, f64 stdout_bytes, f64 stderr_bytes,
 *            u32 stdout_inline, u32 stderr_inline (INLINE_NONE: the file stays), the inline bytes of both
 *     asked  u32 pid (0: not running)
 *     started nothing; only for FLAG_QUEUE
 *
 * A command with FLAG_QUEUE waits until fewer than `limit` of its kind run. Before it starts, its ref and attempt are
 * written to the marks file, 16 bytes at 16 * mark, so that after a kill of the runner others know that it has started.
 * It does not start after either clock has passed its time, because the runner's lease may have expired by then. When it
 * has ended by itself, the last four bytes of its mark say how: u8 flags (MARK_*), u8 exit code or signal, u16 zero.
 *
 * src/attempt/native-launcher.ts is the other end of this table.
 */
#ifdef __linux__
#define _GNU_SOURCE
#else
#define _DARWIN_C_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/signalfd.h>
#endif

#define PROTOCOL "redrive-launcher 3"

enum { KIND_LAUNCH = 1, KIND_ASK = 2, KIND_MARKS = 3, KIND_CANCEL = 4 };
enum { KIND_ENDED = 1, KIND_ASKED = 2, KIND_STARTED = 3 };
enum { FLAG_QUEUE = 2, FLAG_KEEP_FILES = 4 }; /* with FLAG_KEEP_FILES, commands write to the files themselves */
/*
 * What could not be done when a command did not start: run this command with what it was given, enter its folder,
 * or do our own part. Only the last may go better at another time. It also explains a command that failed because its
 * output could not be kept.
 */
enum { STAGE_NONE = 0, STAGE_COMMAND = 1, STAGE_CWD = 2, STAGE_RUNNER = 3 };

#define FRAME_BYTES_MAX (64u << 20)
#define HEADER_BYTES 9u       /* length, kind, id */
#define QUEUE_BYTES 36u       /* the part of a launch that only a queued command has */
#define MARK_BYTES 16
#define MARK_END_AT 12        /* the part of a mark about the end */
#define ENDED_BYTES 55u       /* a whole ended frame without inline bytes */
#define INLINE_BYTES_MAX 8192u
#define INLINE_NONE UINT32_MAX
#define PIPE_BYTES_MAX 60000u /* fits the buffer of a pipe, so that writing it never waits for the command */
#define INPUT_BYTES_KEPT (1u << 20)
#define CHUNK_BYTES (64u << 10)
#define CHUNKS_MAX 32         /* read at once from one pipe; more than a pipe holds by default */
#define WATCH_MS 20.0         /* the pipes of a command that ends before this are read only at its end */
#define SPILL_MS 200.0        /* after this, output goes to a file, so that others can follow it */
#define REPLY_HOLD_MS 5.0     /* how long replies are collected while other commands wait for their turn */
#define GRACE_MS 2000.0
#define GIVE_UP_MS 10000.0

extern char **environ;

/* One output of a command. */
struct stream {
  char *path;
  int pipe_fd; /* -1: the command writes to the file, or has closed the pipe */
  int file_fd; /* -1: no output went to the file yet */
  char *head;  /* output that is not in the file; NULL: none */
  uint32_t head_bytes;
  int error; /* why output could not be written to the file */
};

#define REPORTS_MAX 3

enum { MARK_ENDED = 1, MARK_HAS_OUTPUT = 2, MARK_SIGNAL = 4 }; /* output: or files that the runner reads */

struct launch {
  uint32_t id;
  pid_t pid;
  uint8_t flags;
  double started_ms;
  char *paths; /* one allocation for all of them */
  struct stream out, err;
  char *reports[REPORTS_MAX]; /* the files that the command may write */
  size_t report_count;
  uint32_t mark, marks_file; /* with FLAG_QUEUE: where its mark is, and in which of the marks files so far */
  int is_asked; /* the runner may be ending it, and then it decides what that means */
};

struct request {
  uint32_t id;
  uint8_t flags;
  const char *queue; /* with FLAG_QUEUE: the queue part of the frame */
  char *cwd, *stdout_path, *stderr_path;
  char **argv, **envp;
  size_t envc; /* how many of envp the request itself has; they are first */
  const char *input;
  size_t input_bytes;
};

struct captured {
  double bytes;
  uint32_t inlined;
};

/* A command that waits until it may start. */
struct waiting {
  struct waiting *next;
  uint32_t id;
  size_t size;
  char body[];
};

static struct launch *running;
static size_t running_count, running_room;
static size_t queued_running; /* how many of them came with FLAG_QUEUE */

static struct waiting *queue_first, **queue_end = &queue_first;
static int marks_fd = -1, marks_error = EBADF;
static uint32_t marks_files; /* how many there have been */
static int closing; /* nothing is started any more */
static int ending;  /* what runs was told to end */

static int *late_pipes; /* of commands that have ended, while a process that they left behind may write */
static size_t late_count, late_room;

static struct rlimit files_limit; /* of the commands; ours is higher */

static int null_fd, child_fd; /* child_fd is readable when a child has ended */
static int guard_fd = -1;     /* reads the end of a pipe when the guard has died */

static void die(const char *what)
{
  fprintf(stderr, "redrive-launcher: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double read_clock(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void) { return read_clock(CLOCK_MONOTONIC); }

static uint32_t get_u32(const char *from)
{
  uint32_t value;
  memcpy(&value, from, sizeof value);
  return value;
}

static double get_f64(const char *from)
{
  double value;
  memcpy(&value, from, sizeof value);
  return value;
}

static char *put(char *to, const void *value, size_t bytes)
{
  memcpy(to, value, bytes);
  return to + bytes;
}

static char *put_u32(char *to, uint32_t value) { return put(to, &value, sizeof value); }
static char *put_f64(char *to, double value) { return put(to, &value, sizeof value); }

/* ---- replies: collected here, so that several that are ready leave in one write ---- */

static char replies[256 << 10];
static size_t replies_bytes;
static double replies_since; /* since when they have been held back; 0: they are not */
static int runner_gone;
static int guard_gone; /* from then on nothing is reported: that our commands end is not their fault */

static void flush_replies(void)
{
  size_t done = 0;
  while (done < replies_bytes && !runner_gone && !guard_gone) {
    ssize_t n = write(STDOUT_FILENO, replies + done, replies_bytes - done);
    if (n > 0) {
      done += (size_t)n;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
      poll(&out, 1, -1);
    } else if (errno != EINTR) {
      runner_gone = 1;
    }
  }
  replies_bytes = 0;
  replies_since = 0;
}

static char *room_for_reply(size_t bytes)
{
  if (replies_bytes + bytes > sizeof replies) flush_replies();
  return replies + replies_bytes;
}

struct ended {
  uint32_t id;
  uint8_t stage, reports;
  int32_t exit_code, signal, error;
  double duration_ms;
  struct captured out, err;
};

/* The inline bytes are already behind the header. */
static void commit_ended(char *frame, const struct ended *e, size_t inline_bytes)
{
  char *to = put_u32(frame, (uint32_t)(ENDED_BYTES - 4 + inline_bytes));
  *to++ = KIND_ENDED;
  to = put_u32(to, e->id);
  *to++ = (char)e->stage;
  *to++ = (char)e->reports;
  to = put(to, &e->exit_code, 4);
  to = put(to, &e->signal, 4);
  to = put(to, &e->error, 4);
  to = put_f64(to, e->duration_ms);
  to = put_f64(to, e->out.bytes);
  to = put_f64(to, e->err.bytes);
  to = put_u32(to, e->out.inlined);
  put_u32(to, e->err.inlined);
  replies_bytes += ENDED_BYTES + inline_bytes;
}

static uint8_t stage_of(int request_error) { return request_error == ENOMEM ? STAGE_RUNNER : STAGE_COMMAND; }

static void reply_not_started(uint32_t id, uint8_t stage, int error)
{
  struct ended e = {.id = id, .stage = stage, .exit_code = -1, .error = error};
  commit_ended(room_for_reply(ENDED_BYTES), &e, 0);
}

static void reply_asked(uint32_t id, pid_t pid)
{
  char *to = put_u32(room_for_reply(HEADER_BYTES + 4), HEADER_BYTES);
  *to++ = KIND_ASKED;
  put_u32(put_u32(to, id), (uint32_t)pid);
  replies_bytes += HEADER_BYTES + 4;
}

static void reply_started(uint32_t id)
{
  char *to = put_u32(room_for_reply(HEADER_BYTES), HEADER_BYTES - 4);
  *to++ = KIND_STARTED;
  put_u32(to, id);
  replies_bytes += HEADER_BYTES;
}

/* ---- output files ---- */

/*
 * A file of this launch alone: what an earlier launch left at the path is unlinked, not truncated, because a
 * process that outlived that launch may still write to it.
 */
static int open_output(const char *path)
{
  const int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_EXCL;
  int fd = open(path, how, 0600);
  if (fd >= 0 || errno != EEXIST) return fd;
  unlink(path);
  return open(path, how, 0600);
}

static uint32_t read_whole(const char *path, char *to, size_t bytes)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return INLINE_NONE;
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = read(fd, to + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  close(fd);
  return done == bytes ? (uint32_t)bytes : INLINE_NONE;
}

/* Small output moves into the reply and its file goes; large output stays where it is. */
static struct captured collect(const char *path, int flags, char *to)
{
  struct captured c = {0, 0};
  struct stat st;
  if (stat(path, &st) != 0) return c;
  c.bytes = (double)st.st_size;
  if (st.st_size > 0) {
    c.inlined = st.st_size <= INLINE_BYTES_MAX ? read_whole(path, to, (size_t)st.st_size) : INLINE_NONE;
  }
  if (c.inlined != INLINE_NONE && !(flags & FLAG_KEEP_FILES)) unlink(path);
  return c;
}

/* ---- output over pipes ---- */

static int write_all(int fd, const char *from, size_t bytes)
{
  while (bytes > 0) {
    ssize_t n = write(fd, from, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    from += n;
    bytes -= (size_t)n;
  }
  return 0;
}

static int make_pipe(int ends[2])
{
#ifdef __linux__
  return pipe2(ends, O_CLOEXEC);
#else
  if (pipe(ends) != 0) return -1;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return 0;
#endif
}

/* The end for the command. -1: it writes to the file, also when there are too many pipes. */
static int open_stream(struct stream *s, char *path, int flags)
{
  int ends[2];
  *s = (struct stream){.path = path, .pipe_fd = -1, .file_fd = -1};
  if (flags & FLAG_KEEP_FILES || make_pipe(ends) != 0) return -1;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  s->pipe_fd = ends[0];
  return ends[1];
}

static void close_fd(int *fd)
{
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void close_stream(struct stream *s)
{
  close_fd(&s->pipe_fd);
  close_fd(&s->file_fd);
  free(s->head);
  s->head = NULL;
}

static int write_file(struct stream *s, const char *from, size_t bytes)
{
  if (s->file_fd < 0) s->file_fd = open_output(s->path);
  if (s->file_fd >= 0 && write_all(s->file_fd, from, bytes) == 0) return 0;
  s->error = errno;
  close_fd(&s->pipe_fd); /* the command's next write fails, as it would in a file */
  return -1;
}

static int spill(struct stream *s)
{
  uint32_t bytes = s->head_bytes;
  s->head_bytes = 0;
  return bytes == 0 ? 0 : write_file(s, s->head, bytes);
}

static void keep(struct stream *s, const char *from, size_t bytes)
{
  if (s->file_fd < 0 && s->head_bytes + bytes <= INLINE_BYTES_MAX && (s->head || (s->head = malloc(INLINE_BYTES_MAX)))) {
    memcpy(s->head + s->head_bytes, from, bytes);
    s->head_bytes += (uint32_t)bytes;
  } else if (spill(s) == 0) {
    write_file(s, from, bytes);
  }
}

/* Reads what is there now. */
static void read_stream(struct stream *s)
{
  static char chunk[CHUNK_BYTES];
  for (int i = 0; s->pipe_fd >= 0 && i < CHUNKS_MAX; i++) {
    ssize_t n = read(s->pipe_fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) close_fd(&s->pipe_fd);
    else keep(s, chunk, (size_t)n);
  }
}

/* A process that a command left behind may still write: that must neither fail nor block. */
static void keep_reading(struct stream *s)
{
  if (s->pipe_fd < 0) return;
  if (late_count == late_room) {
    size_t room = late_room ? late_room * 2 : 16;
    int *more = realloc(late_pipes, room * sizeof *more);
    if (!more) return; /* close_stream closes it */
    late_pipes = more;
    late_room = room;
  }
  late_pipes[late_count++] = s->pipe_fd;
  s->pipe_fd = -1;
}

/* False when all writers have closed it. */
static int discard_late(int fd)
{
  char bytes[4096];
  for (int i = 0; i < CHUNKS_MAX; i++) {
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n == 0) return 0;
    if (n < 0 && errno != EINTR) return errno == EAGAIN || errno == EWOULDBLOCK;
  }
  return 1;
}

/* Output that is in no file goes into the reply. */
static struct captured collect_stream(struct stream *s, int flags, char *to)
{
  struct captured c = {0, 0};
  read_stream(s);
  if (s->file_fd >= 0) spill(s);
  if (s->file_fd >= 0 || flags & FLAG_KEEP_FILES) return collect(s->path, flags, to);
  c.bytes = s->head_bytes;
  c.inlined = s->head_bytes;
  if (s->head_bytes > 0) memcpy(to, s->head, s->head_bytes);
  return c;
}

/* ---- starting a command ---- */

static volatile int child_error; /* set by the child, which shares our memory until it runs the command */
static volatile uint8_t child_stage;

/* A script without "#!" runs under sh, as execvp has it; a binary of another kind is an error. */
static void exec_script(const char *path, char **argv, char **envp)
{
  char head[128];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
  if (n >= 0 && memchr(head, 0, (size_t)n) == NULL) {
    size_t argc = 0;
    while (argv[argc]) argc++;
    char *script[argc + 2];
    script[0] = (char *)"sh";
    script[1] = (char *)path;
    for (size_t i = 1; i <= argc; i++) script[i + 1] = argv[i];
    execve("/bin/sh", script, envp);
  }
  errno = ENOEXEC;
}

static void exec_file(const char *path, char **argv, char **envp)
{
  execve(path, argv, envp);
  if (errno == ENOEXEC) exec_script(path, argv, envp);
}

static const char *path_of(char **envp)
{
  for (; *envp; envp++)
    if (strncmp(*envp, "PATH=", 5) == 0) return *envp + 5;
  return "/usr/local/bin:/bin:/usr/bin";
}

/* Where the last command was found. Most runs have one command, and a failed execve costs more than comparing names. */
static struct {
  char name[256], path[4096], file[4096 + 257];
} found;

static int is_found(const char *name, const char *path)
{
  return found.file[0] != '\0' && strcmp(found.name, name) == 0 && strcmp(found.path, path) == 0;
}

/* The child shares our memory, so what it writes here is there for the next command. */
static void remember_found(const char *name, const char *path, const char *file)
{
  size_t path_bytes = strlen(path) + 1;
  found.file[0] = '\0';
  if (path_bytes > sizeof found.path) return;
  strcpy(found.name, name); /* both were checked by exec_command */
  memcpy(found.path, path, path_bytes);
  strcpy(found.file, file);
}

/* Looks for the command in the PATH that the command itself will see. Returns only when it cannot be run. */
static void exec_command(char **argv, char **envp)
{
  const char *name = argv[0], *path = path_of(envp), *dir = path;
  size_t name_bytes = strlen(name);
  int denied = 0, is_fixed = 1; /* whether the search does not depend on the folder */
  if (strchr(name, '/')) {
    exec_file(name, argv, envp);
    return;
  }
  errno = ENOENT;
  if (name_bytes == 0 || name_bytes > 255) return;
  if (is_found(name, path)) exec_file(found.file, argv, envp);
  found.file[0] = '\0';
  for (;;) {
    char file[4096 + 257];
    size_t dir_bytes = strcspn(dir, ":");
    if (dir_bytes < 4096) {
      memcpy(file, dir, dir_bytes);
      size_t at = dir_bytes;
      if (at > 0) file[at++] = '/';
      memcpy(file + at, name, name_bytes + 1);
      is_fixed &= file[0] == '/';
      if (is_fixed) remember_found(name, path, file);
      exec_file(file, argv, envp);
      found.file[0] = '\0';
      if (errno == EACCES) denied = 1;
      else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV && errno != ELOOP) return;
    }
    if (dir[dir_bytes] == '\0') break;
    dir += dir_bytes + 1;
  }
  errno = denied ? EACCES : ENOENT;
}

/* Runs in the child. Every signal is at its default here, so unblocking them can run no handler of ours. */
static void become_command(const struct request *r, int input_fd, int out, int err)
{
  sigset_t none;
  child_stage = STAGE_RUNNER;
  if (setpgid(0, 0) != 0) return;
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* when we are killed, nobody else would end it */
#else
  signal(SIGCHLD, SIG_DFL);
#endif
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (out < 0 && (out = open_output(r->stdout_path)) < 0) return;
  if (err < 0 && (err = open_output(r->stderr_path)) < 0) return;
  if (dup2(input_fd, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) return;
  setrlimit(RLIMIT_NOFILE, &files_limit);
  child_stage = STAGE_CWD;
  if (chdir(r->cwd) != 0) return;
  child_stage = STAGE_COMMAND;
  exec_command(r->argv, r->envp);
}

#ifdef __linux__
/* The child borrows our memory until it runs the command, so there is nothing to copy and errors are seen here. */
static pid_t start_child(const struct request *r, int input_fd, int out, int err)
{
  child_error = 0;
  pid_t pid = vfork();
  if (pid == 0) {
    become_command(r, input_fd, out, err);
    child_error = errno;
    _exit(127);
  }
  if (pid < 0) {
    child_error = errno;
    child_stage = STAGE_RUNNER;
  }
  return pid;
}
#else
/* Without a dependable vfork: the child tells over a pipe what went wrong; the pipe closes when it runs the command. */
static pid_t start_child(const struct request *r, int input_fd, int out, int err)
{
  int told[2], told_error[2] = {0, 0};
  child_error = 0;
  child_stage = STAGE_RUNNER;
  if (pipe(told) != 0) {
    child_error = errno;
    return -1;
  }
  fcntl(told[0], F_SETFD, FD_CLOEXEC);
  fcntl(told[1], F_SETFD, FD_CLOEXEC);
  pid_t pid = fork();
  if (pid == 0) {
    become_command(r, input_fd, out, err);
    told_error[0] = errno;
    told_error[1] = child_stage;
    if (write(told[1], told_error, sizeof told_error) < 0) _exit(126);
    _exit(127);
  }
  int fork_error = errno;
  close(told[1]);
  if (pid < 0) {
    child_error = fork_error;
  } else {
    ssize_t n;
    while ((n = read(told[0], told_error, sizeof told_error)) < 0 && errno == EINTR) continue;
    if (n == (ssize_t)sizeof told_error) {
      child_error = told_error[0];
      child_stage = (uint8_t)told_error[1];
    }
  }
  close(told[0]);
  return pid;
}
#endif

/* A pipe that already holds all of the input; -1 when it does not fit. */
static int input_pipe(const struct request *r)
{
  int ends[2];
  if (make_pipe(ends) != 0) return -1;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  int failed = write_all(ends[1], r->input, r->input_bytes);
  close(ends[1]);
  if (!failed) return ends[0];
  close(ends[0]);
  return -1;
}

/* An unlinked file beside the output, for input that no pipe holds. */
static int input_file(const struct request *r)
{
  char path[4200];
  if (snprintf(path, sizeof path, "%s.stdin", r->stdout_path) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  unlink(path);
  int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (to < 0) return -1;
  int from = write_all(to, r->input, r->input_bytes) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  int error = errno;
  close(to);
  unlink(path);
  errno = error;
  return from;
}

static int open_input(const struct request *r)
{
  if (r->input_bytes == 0) return null_fd;
  int fd = r->input_bytes <= PIPE_BYTES_MAX ? input_pipe(r) : -1;
  return fd >= 0 ? fd : input_file(r);
}

static struct launch *room_for_launch(void)
{
  if (running_count == running_room) {
    size_t room = running_room ? running_room * 2 : 64;
    struct launch *more = realloc(running, room * sizeof *more);
    if (!more) return NULL;
    running = more;
    running_room = room;
  }
  return &running[running_count];
}

/* The path of a report file, if the variable names one. */
static const char *report_of(const char *variable)
{
  const char *name_end = strchr(variable, '=');
  if (!name_end || strncmp(variable, "REDRIVE_", 8) != 0) return NULL;
  return name_end - variable > 5 && strncmp(name_end - 5, "_FILE", 5) == 0 ? name_end + 1 : NULL;
}

/* Remembers the launch before it starts: a process that nobody knows of must not exist. */
static struct launch *remember(const struct request *r)
{
  struct launch *l = room_for_launch();
  const char *all[2 + REPORTS_MAX] = {r->stdout_path, r->stderr_path};
  size_t count = 2, bytes = 0;
  for (size_t i = 0; i < r->envc && count < 2 + REPORTS_MAX; i++)
    if ((all[count] = report_of(r->envp[i]))) count++;
  for (size_t i = 0; i < count; i++) bytes += strlen(all[i]) + 1;
  char *to = l ? malloc(bytes) : NULL;
  if (!to) return NULL;
  l->id = r->id;
  l->flags = r->flags;
  l->paths = to;
  l->report_count = count - 2;
  l->is_asked = 0;
  l->marks_file = marks_files;
  l->mark = r->flags & FLAG_QUEUE ? get_u32(r->queue + 4) : 0;
  for (size_t i = 0; i < count; i++) {
    size_t path_bytes = strlen(all[i]) + 1;
    memcpy(to, all[i], path_bytes);
    if (i >= 2) l->reports[i - 2] = to;
    to += path_bytes;
  }
  return l;
}

static void forget(struct launch *l)
{
  close_stream(&l->out);
  close_stream(&l->err);
  free(l->paths);
}

static void start(const struct request *r)
{
  struct launch *l = remember(r);
  if (!l) {
    reply_not_started(r->id, STAGE_RUNNER, ENOMEM);
    return;
  }
  int input_fd = open_input(r);
  if (input_fd < 0) {
    reply_not_started(r->id, STAGE_RUNNER, errno);
    free(l->paths);
    return;
  }
  int out = open_stream(&l->out, l->paths, r->flags);
  int err = open_stream(&l->err, l->paths + strlen(l->paths) + 1, r->flags);
  l->started_ms = now_ms();
  l->pid = start_child(r, input_fd, out, err);
  if (input_fd != null_fd) close(input_fd);
  close_fd(&out);
  close_fd(&err);
  if (l->pid > 0 && child_error == 0) {
    running_count++;
    if (r->flags & FLAG_QUEUE) {
      queued_running++;
      reply_started(r->id);
    }
    return;
  }
  if (l->pid > 0) waitpid(l->pid, NULL, 0);
  reply_not_started(r->id, child_stage, child_error);
  unlink(l->out.path);
  unlink(l->err.path);
  forget(l);
}

/* ---- requests ---- */

static char **words; /* argv and envp of the request at hand */
static size_t words_room;

static int room_for_words(size_t count)
{
  if (count <= words_room) return 0;
  char **more = realloc(words, count * sizeof *more);
  if (!more) return -1;
  words = more;
  words_room = count;
  return 0;
}

static int names_match(const char *a, const char *b)
{
  while (*a && *a != '=' && *a == *b) a++, b++;
  return *a == '=' && *b == '=';
}

static size_t count_environ(void)
{
  size_t count = 0;
  while (environ[count]) count++;
  return count;
}

/* Our own environment, except what the request sets itself. The given pairs are at envp[0..given). */
static void add_environ(char **envp, size_t given)
{
  size_t count = given;
  for (char **own = environ; *own; own++) {
    size_t i = 0;
    while (i < given && !names_match(envp[i], *own)) i++;
    if (i == given) envp[count++] = *own;
  }
  envp[count] = NULL;
}

static char *next_string(char **at, char *end)
{
  char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
  if (!nul) return NULL;
  *at = nul + 1;
  return text;
}

/* 0, or the errno of what is wrong. A NUL inside an argument would shift the others: then the count is off. */
static int read_launch(struct request *r, char *body, size_t size)
{
  if (size < 13) return EINVAL;
  r->flags = (uint8_t)body[0];
  r->queue = body + 13;
  size_t head = r->flags & FLAG_QUEUE ? 13 + QUEUE_BYTES : 13;
  if (size < head) return EINVAL;
  size_t argc = get_u32(body + 1), envc = get_u32(body + 5), text_bytes = get_u32(body + 9);
  char *at = body + head;
  if (argc == 0 || text_bytes > size - head || argc > text_bytes || envc > text_bytes) return EINVAL;
  char *end = at + text_bytes;
  if (room_for_words(argc + envc + count_environ() + 2) != 0) return ENOMEM;
  r->argv = words;
  r->envp = words + argc + 1;
  r->envc = envc;
  if (!(r->cwd = next_string(&at, end))) return EINVAL;
  if (!(r->stdout_path = next_string(&at, end))) return EINVAL;
  if (!(r->stderr_path = next_string(&at, end))) return EINVAL;
  for (size_t i = 0; i < argc; i++)
    if (!(r->argv[i] = next_string(&at, end))) return EINVAL;
  for (size_t i = 0; i < envc; i++)
    if (!(r->envp[i] = next_string(&at, end))) return EINVAL;
  if (at != end) return EINVAL;
  r->argv[argc] = NULL;
  add_environ(r->envp, envc);
  r->input = end;
  r->input_bytes = size - head - text_bytes;
  return 0;
}

static void answer_ask(uint32_t id)
{
  for (size_t i = 0; i < running_count; i++) {
    if (running[i].id == id) {
      running[i].is_asked = 1;
      reply_asked(id, running[i].pid);
      return;
    }
  }
  reply_asked(id, 0);
}

/* ---- commands that wait for their turn ---- */

static int open_marks(const char *path, size_t size)
{
  if (marks_fd >= 0) close(marks_fd);
  marks_fd = -1;
  marks_files++;
  if (size == 0 || path[size - 1] != '\0') return EINVAL;
  marks_fd = open(path, O_WRONLY | O_CLOEXEC);
  return marks_fd < 0 ? errno : 0;
}

/* 0, or the errno of why this command must not start. */
static int may_start(const struct request *r)
{
  const char *queue = r->queue;
  char mark[MARK_BYTES] = {0};
  if (now_ms() >= get_f64(queue + 20) || read_clock(CLOCK_REALTIME) >= get_f64(queue + 28)) return ESTALE;
  if (marks_fd < 0) return marks_error;
  memcpy(mark, queue + 8, 12); /* ref and attempt */
  ssize_t n = pwrite(marks_fd, mark, MARK_BYTES, (off_t)get_u32(queue + 4) * MARK_BYTES);
  return n == MARK_BYTES ? 0 : n < 0 ? errno : ENOSPC;
}

static void launch(uint32_t id, char *body, size_t size)
{
  struct request r = {.id = id};
  int error = read_launch(&r, body, size);
  uint8_t stage = stage_of(error);
  if (!error && r.flags & FLAG_QUEUE) {
    error = may_start(&r);
    stage = STAGE_RUNNER;
  }
  if (error) reply_not_started(id, stage, error);
  else start(&r);
}

static int is_queued(const char *body, size_t size) { return size >= 13 + QUEUE_BYTES && body[0] & FLAG_QUEUE; }

static int has_room(const char *body) { return queued_running < get_u32(body + 13); }

static void enqueue(uint32_t id, char *body, size_t size)
{
  struct waiting *w = malloc(sizeof *w + size);
  if (!w) {
    reply_not_started(id, STAGE_RUNNER, ENOMEM);
    return;
  }
  w->next = NULL;
  w->id = id;
  w->size = size;
  memcpy(w->body, body, size);
  *queue_end = w;
  queue_end = &w->next;
}

/* Takes it out of the queue; `at` points to it. */
static struct waiting *dequeue(struct waiting **at)
{
  struct waiting *w = *at;
  *at = w->next;
  if (queue_end == &w->next) queue_end = at;
  return w;
}

/* Others may have taken the items of a runner that was killed, so nothing of it may start. */
static int has_runner_gone(void)
{
  struct pollfd in = {.fd = STDIN_FILENO};
  return poll(&in, 1, 0) > 0 && in.revents & (POLLHUP | POLLERR);
}

static void start_waiting(void)
{
  while (!closing && queue_first && has_room(queue_first->body) && !has_runner_gone()) {
    struct waiting *w = dequeue(&queue_first);
    launch(w->id, w->body, w->size);
    free(w);
  }
}

/*
 * How long the replies may still wait; 0: no longer. While commands wait for their turn, the slots stay busy without the
 * runner, and it handles several replies at once far cheaper than one after the other.
 */
static double hold_replies_ms(void)
{
  if (replies_bytes == 0 || !queue_first) return 0;
  double now = now_ms();
  if (replies_since == 0) replies_since = now;
  return REPLY_HOLD_MS - (now - replies_since);
}

static void cancel(uint32_t id)
{
  for (struct waiting **at = &queue_first; *at; at = &(*at)->next) {
    if ((*at)->id != id) continue;
    free(dequeue(at));
    reply_not_started(id, STAGE_RUNNER, ECANCELED);
    return;
  }
}

static void handle_frame(char kind, uint32_t id, char *body, size_t size)
{
  if (kind == KIND_ASK) {
    answer_ask(id);
    flush_replies(); /* a person or a limit waits for it */
  } else if (kind == KIND_MARKS) marks_error = open_marks(body, size);
  else if (kind == KIND_CANCEL) cancel(id);
  else if (kind != KIND_LAUNCH) reply_not_started(id, STAGE_COMMAND, EPROTO);
  else if (is_queued(body, size) && (queue_first || !has_room(body))) enqueue(id, body, size);
  else launch(id, body, size);
}

static char *input;
static size_t input_bytes, input_room;
static uint64_t skip_bytes; /* the rest of a frame that was refused */

static int room_for_input(size_t room)
{
  if (room <= input_room) return 0;
  char *more = realloc(input, room);
  if (!more) return -1;
  input = more;
  input_room = room;
  return 0;
}

static void refuse_frame(const char *frame, int error)
{
  reply_not_started(get_u32(frame + 5), stage_of(error), error);
  skip_bytes = (uint64_t)get_u32(frame) + 4;
}

/* Handles the whole frames in the buffer and makes room for the one that has only begun. -1: not our protocol. */
static int handle_input(void)
{
  size_t at = 0, wanted = 0;
  for (;;) {
    size_t skipped = skip_bytes < input_bytes - at ? (size_t)skip_bytes : input_bytes - at;
    skip_bytes -= skipped;
    at += skipped;
    if (input_bytes - at < HEADER_BYTES) break;
    char *frame = input + at;
    size_t frame_bytes = (size_t)get_u32(frame) + 4;
    if (frame_bytes < HEADER_BYTES) return -1;
    if (frame_bytes - 4 > FRAME_BYTES_MAX) {
      refuse_frame(frame, EMSGSIZE);
    } else if (input_bytes - at < frame_bytes) {
      wanted = frame_bytes;
      break;
    } else {
      handle_frame(frame[4], get_u32(frame + 5), frame + HEADER_BYTES, frame_bytes - HEADER_BYTES);
      at += frame_bytes;
    }
  }
  input_bytes -= at;
  memmove(input, input + at, input_bytes);
  if (room_for_input(wanted) != 0) {
    refuse_frame(input, ENOMEM);
    skip_bytes -= input_bytes;
    input_bytes = 0;
  }
  if (input_bytes == 0 && input_room > INPUT_BYTES_KEPT) {
    free(input);
    input = NULL;
    input_room = 0;
  }
  return 0;
}

/* False when the runner has gone or does not speak our protocol. */
static int read_requests(void)
{
  if (input_bytes == input_room && room_for_input(input_room + (64u << 10)) != 0) return 0;
  ssize_t n = read(STDIN_FILENO, input + input_bytes, input_room - input_bytes);
  if (n < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
  if (n == 0) return 0;
  input_bytes += (size_t)n;
  return handle_input() == 0;
}

/* ---- ends ---- */

/* Saves the runner its own look at files that most commands do not write. */
static int has_reports(const struct launch *l)
{
  for (size_t i = 0; i < l->report_count; i++)
    if (access(l->reports[i], F_OK) == 0 || errno != ENOENT) return 1;
  return 0;
}

/*
 * Records an end that nobody has caused, before it is reported: if the runner is killed before it stores the result, the
 * attempt was not lost. Without the record, it counts as running.
 */
static void mark_ended(const struct launch *l, const struct ended *e)
{
  if (!(l->flags & FLAG_QUEUE) || l->is_asked || ending || marks_fd < 0 || l->marks_file != marks_files) return;
  int has_output = e->reports || e->out.bytes > 0 || e->err.bytes > 0;
  char end[MARK_BYTES - MARK_END_AT] = {0};
  end[0] = (char)(MARK_ENDED | (has_output ? MARK_HAS_OUTPUT : 0) | (e->signal ? MARK_SIGNAL : 0));
  end[1] = (char)(e->signal ? e->signal : e->exit_code);
  ssize_t n = pwrite(marks_fd, end, sizeof end, (off_t)l->mark * MARK_BYTES + MARK_END_AT);
  (void)n;
}

static void reply_ended(struct launch *l, int status)
{
  char *frame = room_for_reply(ENDED_BYTES + 2 * INLINE_BYTES_MAX), *to = frame + ENDED_BYTES;
  struct ended e = {.id = l->id, .exit_code = -1, .duration_ms = now_ms() - l->started_ms};
  if (WIFEXITED(status)) e.exit_code = WEXITSTATUS(status);
  else e.signal = WTERMSIG(status);
  e.reports = (uint8_t)has_reports(l);
  e.out = collect_stream(&l->out, l->flags, to);
  if (e.out.inlined != INLINE_NONE) to += e.out.inlined;
  e.err = collect_stream(&l->err, l->flags, to);
  if (e.err.inlined != INLINE_NONE) to += e.err.inlined;
  if (e.exit_code != 0 && (e.error = l->out.error ? l->out.error : l->err.error)) e.stage = STAGE_RUNNER;
  mark_ended(l, &e);
  commit_ended(frame, &e, (size_t)(to - frame) - ENDED_BYTES);
}

/* True while there are children, ours or inherited from a command that has ended. */
static int reap(void)
{
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return 0;
    if (pid == 0) return 1;
    size_t i = 0;
    while (i < running_count && running[i].pid != pid) i++;
    if (i == running_count) continue;
    if (running[i].flags & FLAG_QUEUE) queued_running--;
    start_waiting(); /* before the report, which takes longer */
    reply_ended(&running[i], status);
    keep_reading(&running[i].out);
    keep_reading(&running[i].err);
    forget(&running[i]);
    running[i] = running[--running_count];
  }
}

static void drain(int fd)
{
  char bytes[1024];
  while (read(fd, bytes, sizeof bytes) > 0) continue;
}

#ifdef __linux__
static void watch_children(void)
{
  sigset_t all, child;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL); /* only the end of stdin ends us */
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (child_fd < 0) die("signalfd");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) die("prctl");
}
#else
static int child_signal_fd;

static void on_child(int signal)
{
  int error = errno;
  (void)signal;
  if (write(child_signal_fd, "", 1) < 0) errno = error; /* full: it is readable already */
  errno = error;
}

static void watch_children(void)
{
  int ends[2];
  sigset_t but_child;
  if (pipe(ends) != 0) die("pipe");
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[i], F_SETFL, O_NONBLOCK);
  }
  child_fd = ends[0];
  child_signal_fd = ends[1];
  signal(SIGCHLD, on_child);
  sigfillset(&but_child);
  sigdelset(&but_child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &but_child, NULL);
}
#endif

/* ---- the end of the runner ---- */

#ifdef __linux__
struct process {
  pid_t pid, parent, group;
  int ours;
};

static int read_process(const char *name, struct process *p)
{
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return -1;
  text[n] = '\0';
  char *after_name = strrchr(text, ')'); /* the name may hold anything, also ")" */
  p->pid = atoi(name);
  p->ours = 0;
  return after_name && sscanf(after_name + 1, " %*c %d %d", &p->parent, &p->group) == 2 ? 0 : -1;
}

static size_t list_processes(struct process **list)
{
  size_t count = 0, room = 0;
  struct dirent *entry;
  DIR *proc = opendir("/proc");
  *list = NULL;
  while (proc && (entry = readdir(proc))) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (count == room) {
      struct process *more = realloc(*list, (room = room * 2 + 256) * sizeof *more);
      if (!more) break;
      *list = more;
    }
    if (read_process(entry->d_name, *list + count) == 0) count++;
  }
  if (proc) closedir(proc);
  return count;
}

static int by_pid(const void *a, const void *b)
{
  pid_t left = ((const struct process *)a)->pid, right = ((const struct process *)b)->pid;
  return (left > right) - (left < right);
}

static void mark_descendants(struct process *list, size_t count)
{
  int changed = count > 0;
  if (changed) qsort(list, count, sizeof *list, by_pid);
  while (changed) {
    changed = 0;
    for (size_t i = 0; i < count; i++) {
      struct process key = {.pid = list[i].parent};
      struct process *parent = bsearch(&key, list, count, sizeof *list, by_pid);
      if (list[i].ours || (key.pid != getpid() && !(parent && parent->ours))) continue;
      list[i].ours = changed = 1;
    }
  }
}

static int is_launch(pid_t group)
{
  for (size_t i = 0; i < running_count; i++)
    if (running[i].pid == group) return 1;
  return 0;
}

/* Orphans come to us, so whatever a command left behind, in whatever session, descends from us. */
static void signal_strays(int signal)
{
  struct process *list;
  size_t count = list_processes(&list);
  mark_descendants(list, count);
  for (size_t i = 0; i < count; i++)
    if (list[i].ours && !is_launch(list[i].group)) kill(list[i].pid, signal);
  free(list);
}
#else
static void signal_strays(int signal) { (void)signal; }
#endif

static void signal_all(int signal)
{
  for (size_t i = 0; i < running_count; i++) kill(-running[i].pid, signal);
  signal_strays(signal);
}

/* ---- waiting ---- */

enum { WATCHED_INPUT, WATCHED_CHILD, WATCHED_GUARD, WATCHED_FIXED };

static struct pollfd *watched;
static size_t watched_room;

static void watch_stream(struct stream *s, size_t *count)
{
  if (s->pipe_fd >= 0) watched[(*count)++] = (struct pollfd){.fd = s->pipe_fd, .events = POLLIN};
}

static void read_watched(struct stream *s, size_t *at)
{
  if (s->pipe_fd < 0) return;
  if (watched[(*at)++].revents) read_stream(s);
}

/* Waits until there is something to do, and reads the output of commands. -1: out of memory, or poll failed. */
static int wait_for_events(int with_input, double timeout_ms)
{
  size_t room = WATCHED_FIXED + 2 * running_count + late_count, count = WATCHED_FIXED, late = late_count;
  double now = running_count > 0 ? now_ms() : 0, wait_ms = timeout_ms;
  if (room > watched_room) {
    struct pollfd *more = realloc(watched, room * 2 * sizeof *more);
    if (!more) return -1;
    watched = more;
    watched_room = room * 2;
  }
  watched[WATCHED_INPUT] = (struct pollfd){.fd = with_input ? STDIN_FILENO : -1, .events = POLLIN};
  watched[WATCHED_CHILD] = (struct pollfd){.fd = child_fd, .events = POLLIN};
  watched[WATCHED_GUARD] = (struct pollfd){.fd = with_input ? guard_fd : -1, .events = POLLIN};
  for (size_t i = 0; i < late; i++) watched[count++] = (struct pollfd){.fd = late_pipes[i], .events = POLLIN};
  for (size_t i = 0; i < running_count; i++) {
    struct launch *l = &running[i];
    double age = now - l->started_ms;
    if (l->out.pipe_fd < 0 && l->err.pipe_fd < 0) continue;
    if (age < WATCH_MS) {
      if (wait_ms < 0 || wait_ms > WATCH_MS - age) wait_ms = WATCH_MS - age;
      continue;
    }
    if (l->out.head_bytes + l->err.head_bytes > 0) {
      if (age >= SPILL_MS) {
        spill(&l->out);
        spill(&l->err);
      } else if (wait_ms < 0 || wait_ms > SPILL_MS - age) {
        wait_ms = SPILL_MS - age;
      }
    }
    watch_stream(&l->out, &count);
    watch_stream(&l->err, &count);
  }
  if (poll(watched, (nfds_t)count, wait_ms < 0 ? -1 : (int)wait_ms + 1) < 0) return errno == EINTR ? 0 : -1;
  size_t at = WATCHED_FIXED + late;
  for (size_t i = 0; i < running_count && at < count; i++) {
    if (now - running[i].started_ms < WATCH_MS) continue;
    read_watched(&running[i].out, &at);
    read_watched(&running[i].err, &at);
  }
  for (size_t i = late; i-- > 0;) {
    if (!watched[WATCHED_FIXED + i].revents || discard_late(late_pipes[i])) continue;
    close(late_pipes[i]);
    late_pipes[i] = late_pipes[--late_count];
  }
  return 0;
}

static void wait_for_child(int timeout_ms)
{
  wait_for_events(0, timeout_ms);
  drain(child_fd);
}

/* TERM to everything, KILL to what is left after the grace. Ends when no descendant is left. */
static void end_all(void)
{
  double began = now_ms();
  closing = 1;
  if (!reap()) return;
  ending = 1;
  signal_all(SIGTERM);
  signal_all(SIGCONT); /* a stopped process cannot act on TERM */
  while (reap()) {
    double waited = now_ms() - began;
    flush_replies();
    if (waited > GRACE_MS) signal_all(SIGKILL);
    if (waited > GRACE_MS + GIVE_UP_MS) break; /* stuck in the kernel; no signal helps */
    wait_for_child(waited > GRACE_MS ? 20 : (int)(GRACE_MS - waited) + 1);
  }
}

static void serve(void)
{
  while (!runner_gone) {
    double hold_ms = hold_replies_ms();
    if (hold_ms <= 0) flush_replies();
    if (wait_for_events(1, hold_ms > 0 ? hold_ms : -1) != 0) return;
    if (watched[WATCHED_GUARD].revents) {
      guard_gone = 1;
      return;
    }
    if (watched[WATCHED_CHILD].revents) {
      drain(child_fd);
      reap();
    }
    if (watched[WATCHED_INPUT].revents && !read_requests()) return;
  }
}

/* Commands get the limit that we were given. We hold two pipes for each of them. */
static void raise_files_limit(void)
{
  if (getrlimit(RLIMIT_NOFILE, &files_limit) != 0) die("getrlimit");
  struct rlimit ours = {.rlim_cur = files_limit.rlim_max, .rlim_max = files_limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &ours); /* if this fails, commands write to files when there are too many pipes */
}

#ifdef __linux__
/* Waits for the server, and ends what it left when it was killed. Never returns. */
static void guard(pid_t server)
{
  int status = 0;
  close(STDIN_FILENO); /* a request to a dead server must fail; stdout stays open until nothing is left */
  for (;;) {
    pid_t pid = waitpid(-1, &status, 0);
    if (pid == server) break;
    if (pid < 0 && errno != EINTR) die("waitpid");
  }
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  end_all();
  _exit(1);
}

/* The one that returns is the server. Only the guard has the writing end of the pipe. */
static void start_guard(void)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) die("pipe");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) die("prctl"); /* before there is a server to lose; it is not inherited */
  pid_t server = fork();
  if (server < 0) die("fork");
  if (server > 0) {
    close(ends[0]);
    watch_children();
    guard(server);
  }
  close(ends[1]);
  guard_fd = ends[0];
}
#endif

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "--version") == 0) return puts(PROTOCOL) < 0;
  for (int signal_number = 1; signal_number < 32; signal_number++) signal(signal_number, SIG_DFL);
  null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 3) die("/dev/null"); /* also when we were started without the standard three */
  raise_files_limit();
#ifdef __linux__
  start_guard();
#endif
  watch_children();
  serve();
  end_all();
  flush_replies();
  return guard_gone;
}

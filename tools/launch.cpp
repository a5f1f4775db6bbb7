#include "launch.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <verbena/error.hpp>

#include "notice.hpp"

namespace verbena::tools {
namespace {

constexpr int grace_seconds = 5;

[[noreturn]] void fail(const char* what, int error, const std::string& advice = {}) {
    throw Error(ErrorCode::unavailable, what, advice, Cause{Origin::system_errno, error, 0});
}

/// A TCP port that was free a moment ago; should another take it first, the store says so.
std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool found = socket >= 0 && bind(socket, generic, length) == 0 && getsockname(socket, generic, &length) == 0;
    const int error = errno;
    if (socket >= 0) close(socket);
    if (!found) fail("no TCP port could be reserved for the ranks to meet", error);
    return ntohs(address.sin_port);
}

/// The signals that a launcher passes on, and SIGCHLD, blocked here so that they can be waited for.
sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP})
        sigaddset(&set, signal);
    return set;
}

/// In the child: only async-signal-safe calls and setenv (this process has one thread).
[[noreturn]] void become_rank(const Launch& launch, std::uint32_t rank, pid_t parent, const sigset_t& signals,
                              int report) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // a launcher that is killed takes its ranks along
    if (getppid() != parent) _exit(1);
    const std::string text = std::to_string(rank);
    setenv("VERBENA_RANK", text.c_str(), 1);
    setenv("VERBENA_LOCAL_RANK", text.c_str(), 1);
    if (rank != 0 || isatty(STDIN_FILENO) != 0) {
        const int null = open("/dev/null", O_RDONLY);
        if (null > STDIN_FILENO) dup2(null, STDIN_FILENO);
    }
    std::vector<char*> arguments;
    for (const std::string& argument : launch.command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t unused = write(report, &error, sizeof error);
    _exit(127);
}

/// The processes of one job.
class Ranks {
  public:
    explicit Ranks(const Launch& launch) : launch_(launch), signals_(watched_signals()) {
        sigprocmask(SIG_BLOCK, &signals_, &before_);
    }
    ~Ranks() {
        signal_all(SIGKILL);
        for (const pid_t process : processes_) {
            if (process > 0) waitpid(process, nullptr, 0);
        }
        sigprocmask(SIG_SETMASK, &before_, nullptr);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    void start() {
        for (std::uint32_t rank = 0; rank < launch_.ranks; ++rank) start(rank);
    }

    int wait() {
        while (alive_ != 0) {
            const timespec limit = {is_ending_ ? grace_seconds : 3600, 0};
            siginfo_t signal = {};
            const int number = sigtimedwait(&signals_, &signal, &limit);
            if (number == SIGCHLD)
                reap();
            else if (number > 0)
                forward(number);
            else if (errno == EAGAIN && is_ending_)
                signal_all(SIGKILL);
        }
        return result_;
    }

  private:
    void start(std::uint32_t rank) {
        int report[2];
        if (pipe2(report, O_CLOEXEC) != 0) fail("no pipe could be made for a new process", errno);
        const pid_t parent = getpid();
        const pid_t process = fork();
        if (process == 0) become_rank(launch_, rank, parent, signals_, report[1]);
        const int fork_error = errno;
        close(report[1]);
        int exec_error = 0;
        const bool failed = process > 0 && read(report[0], &exec_error, sizeof exec_error) == sizeof exec_error;
        close(report[0]);
        if (process < 0) fail("a process for another rank could not be made", fork_error, "look at `ulimit -u`");
        processes_.push_back(process);
        ++alive_;
        if (failed) {
            throw Error(ErrorCode::unavailable,
                        fmt::format("rank {}: \"{}\" cannot be run", rank, launch_.command.front()),
                        "give the program's path, after --", Cause{Origin::system_errno, exec_error, 0});
        }
    }

    void reap() {
        int status = 0;
        for (pid_t process = waitpid(-1, &status, WNOHANG); process > 0; process = waitpid(-1, &status, WNOHANG)) {
            for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
                if (processes_[rank] == process) ended(rank, status);
            }
        }
    }

    void ended(std::uint32_t rank, int status) {
        kill(-processes_[rank], SIGKILL); // what it left behind
        processes_[rank] = 0;
        --alive_;
        const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (code == 0 || is_ending_) return;
        result_ = code;
        if (WIFSIGNALED(status)) {
            notice(fmt::format("rank {} was killed by signal {} ({})", rank, WTERMSIG(status),
                               sigabbrev_np(WTERMSIG(status))));
        } else if (launch_.report_exit_status) {
            notice(fmt::format("rank {} exited with status {}", rank, code));
        }
        end_rest(SIGTERM);
    }

    void end_rest(int signal) {
        is_ending_ = true;
        if (alive_ != 0) signal_all(signal);
    }

    void forward(int signal) {
        const bool is_deadly = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
        if (is_deadly && !is_ending_) {
            result_ = 128 + signal;
            return end_rest(signal);
        }
        signal_all(is_deadly ? SIGKILL : signal); // whoever asks twice means it
        if (signal == SIGTSTP) raise(SIGSTOP);
    }

    void signal_all(int signal) {
        for (const pid_t process : processes_) {
            if (process > 0) kill(-process, signal);
        }
    }

    const Launch& launch_;
    sigset_t signals_;
    sigset_t before_{};
    std::vector<pid_t> processes_; ///< by rank; 0 once it has ended
    std::size_t alive_ = 0;
    bool is_ending_ = false;
    int result_ = 0;
};

} // namespace

std::string random_secret() {
    if (sodium_init() < 0) fail("the system gives no random numbers", ENOSYS);
    unsigned char bytes[16];
    randombytes_buf(bytes, sizeof bytes);
    std::string text;
    for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

std::vector<std::string> own_command(std::vector<std::string> arguments) {
    // The path of this file, even when PATH would find another; the link itself would name the child's own program.
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) fail("/proc/self/exe cannot be read, so no ranks can be started", errno, "mount /proc");
    arguments.insert(arguments.begin(), std::string(path, static_cast<std::size_t>(length)));
    return arguments;
}

int launch(const Launch& launch) {
    const std::string size = std::to_string(launch.ranks);
    setenv("VERBENA_SIZE", size.c_str(), 1);
    setenv("VERBENA_LOCAL_SIZE", size.c_str(), 1);
    setenv("VERBENA_STORE", fmt::format("127.0.0.1:{}", free_port()).c_str(), 1);
    setenv("VERBENA_SECRET", random_secret().c_str(), 0);
    Ranks ranks(launch);
    ranks.start();
    return ranks.wait();
}

} // namespace verbena::tools

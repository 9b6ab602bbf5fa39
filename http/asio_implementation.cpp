// Asio and Beast, compiled once for the whole target.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
